"""How long one cell of a study trains: time and accuracy by encoder and score.

Run from the root of the repository::

    python tests/benchmarks/training_speed.py TEXTS.jsonl --vectors VECTORS.npz
    python tests/benchmarks/training_speed.py TEXTS.jsonl --encoders mlp bilstm --scores additive deep scaled_dot

The number to watch is a BiLSTM of 128 units a direction on the SST-2 sentences (6,920 texts), five epochs:
at most 45 seconds on two cores. Threads are torch's default unless ``--threads`` is given.
"""

from __future__ import annotations

import argparse

import torch

from mi_attention.data import load
from mi_attention.models import ClassifierConfig, TrainingConfig, train

COLUMNS = "{:<10} {:<11} {:>7} {:>9} {:>9} {:>8} {:>8} {:>8}"


def main() -> None:
    """Train every encoder × score and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="labelled texts with train, dev and test splits")
    parser.add_argument("--vectors", help="pretrained word vectors")
    parser.add_argument("--encoders", nargs="+", default=["bilstm"])
    parser.add_argument("--scores", nargs="+", default=["additive"])
    parser.add_argument("--normalizer", default="softmax")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--frozen-embeddings", action="store_true")
    parser.add_argument("--batch-size", type=int, default=TrainingConfig().batch_size)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    data = load(arguments.path, vectors=arguments.vectors)
    sizes = ", ".join(f"{len(split)} {name}" for name, split in data.splits.items())
    print(
        f"{data.name}: {sizes}; {arguments.epochs} epochs, {arguments.units} units, {torch.get_num_threads()} threads"
    )
    print(COLUMNS.format("encoder", "score", "seconds", "s / epoch", "best", "dev acc", "test acc", "test F1"))
    for encoder in arguments.encoders:
        for score in arguments.scores:
            trained = train(
                data,
                ClassifierConfig(
                    encoder=encoder,
                    score=score,
                    units=arguments.units,
                    normalizer=arguments.normalizer,
                    train_embeddings=not arguments.frozen_embeddings,
                ),
                TrainingConfig(epochs=arguments.epochs, patience=arguments.epochs, batch_size=arguments.batch_size),
            )
            test = trained.test
            print(
                COLUMNS.format(
                    encoder,
                    score,
                    f"{trained.seconds:.1f}",
                    f"{sum(epoch.seconds for epoch in trained.history) / len(trained.history):.1f}",
                    trained.best_epoch,
                    f"{trained.dev.accuracy:.3f}",
                    "-" if test is None else f"{test.accuracy:.3f}",
                    "-" if test is None else f"{test.macro_f1:.3f}",
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
