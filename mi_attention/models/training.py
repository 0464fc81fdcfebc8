"""Training: Adam on cross-entropy, stopped by the development split."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from mi_attention.data.batches import plan_batches
from mi_attention.data.dataset import Dataset, Sequences, Vocabulary
from mi_attention.models.batch import make_batch
from mi_attention.models.classifier import AttentionClassifier
from mi_attention.models.config import ClassifierConfig, Freeze, TrainingConfig
from mi_attention.models.evaluation import Evaluation, evaluate

__all__ = ["Epoch", "TrainedClassifier", "fit", "train"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Epoch:
    """One pass over the training split.

    Attributes:
        epoch: From 1.
        train_loss: Mean cross-entropy in nats while training, with noise and changing weights.
        dev: Scores on the development split after it.
        seconds: Wall time, dev evaluation included.
    """

    epoch: int
    train_loss: float
    dev: Evaluation
    seconds: float


@dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """A trained classifier with the facts a paper reports of it.

    Attributes:
        model: In evaluation mode, with the weights of the best epoch.
        classifier_config: What was built.
        training_config: How it was trained.
        classes: Names of the classes.
        vocabulary: None for vector sequences.
        history: One entry an epoch.
        best_epoch: The epoch whose weights were kept.
        dev: Scores on the split that chose the epoch; slightly optimistic for that reason.
        test: Scores on the test split, None if there is none.
        excluded: Training sequences without any position to attend to.
        seconds: Wall time of training and evaluation.
        data: Name of the data set.
        fingerprint: Hash of its content.
    """

    model: AttentionClassifier
    classifier_config: ClassifierConfig
    training_config: TrainingConfig
    classes: tuple[str, ...]
    vocabulary: Vocabulary | None
    history: tuple[Epoch, ...]
    best_epoch: int
    dev: Evaluation
    test: Evaluation | None
    excluded: int
    seconds: float
    data: str
    fingerprint: str


def train(
    dataset: Dataset,
    classifier_config: ClassifierConfig,
    training_config: TrainingConfig,
    initial: AttentionClassifier | None = None,
) -> TrainedClassifier:
    """Train a classifier.

    After every epoch the development split is scored; training stops when ``patience`` epochs brought
    nothing better, and the best weights are restored. The test split is scored once, at the end. The
    same seed gives the same weights to the bit on the same machine and number of threads; no global
    random state is used or changed.

    Args:
        dataset: With training and development splits.
        classifier_config: What to build.
        training_config: How to train.
        initial: Start from a copy of these weights instead of random ones, for example to train the
            attention alone over a trained encoder. ``freeze = "attention_last"`` makes them itself.

    Returns:
        The classifier and its record.

    Raises:
        ValueError: If a split is missing or empty, a label is out of range, nothing is left to train,
            ``initial`` does not fit, or the loss stops being finite.
    """
    _required_splits(dataset)
    model = AttentionClassifier.from_dataset(dataset, classifier_config, training_config.seed)
    if initial is not None:
        _copy_weights(initial, model)
    if initial is not None and training_config.freeze == "attention_last":
        raise ValueError(
            "freeze is 'attention_last', which trains its own initial weights; leave initial out, or use "
            "'all_but_attention' to train the attention over the states of initial"
        )
    if training_config.freeze == "attention_last":
        _require_trainable(model, training_config.freeze)
        finished = _all_but_attention(_under_uniform_attention(dataset, classifier_config, training_config))
        for name, part in _all_but_attention(model).items():
            part.load_state_dict(finished[name].state_dict())
    for split in dataset.splits.values():
        model.require_fitting(split)
    model.to(training_config.device)
    _freeze(model, training_config.freeze)
    return fit(model, dataset, classifier_config, training_config)


def fit(
    model: AttentionClassifier,
    dataset: Dataset,
    classifier_config: ClassifierConfig,
    training_config: TrainingConfig,
) -> TrainedClassifier:
    """Train a model that is there already: what ``train`` does once it has built one.

    Args:
        model: On its device; parameters that need no gradient keep their values. It is changed.
        dataset: With training and development splits.
        classifier_config: What the model was built from, for the record.
        training_config: How to train; ``freeze`` is not looked at.

    Returns:
        The classifier and its record.

    Raises:
        ValueError: If a split is missing or empty, a label is out of range, or the loss stops being finite.
    """
    start = time.perf_counter()
    train_split, dev_split = _required_splits(dataset)
    config = training_config
    optimizer = _Optimizer(model, config)
    order = np.random.default_rng([config.seed, 1])
    noise = torch.Generator(device=model.device).manual_seed(config.seed)

    history: list[Epoch] = []
    best_key: tuple[float, float] | None = None
    best_epoch = 0
    best_weights: dict[str, Tensor] = {}
    excluded = 0
    for number in range(1, config.epochs + 1):
        began = time.perf_counter()
        loss, excluded = _one_epoch(model, train_split, optimizer, config, order, noise, number)
        dev = evaluate(model, dev_split)
        history.append(Epoch(number, loss, dev, time.perf_counter() - began))
        logger.info("epoch %d: train loss %.4f, dev accuracy %.4f, dev loss %.4f", number, loss, dev.accuracy, dev.loss)
        key = (-dev.loss, 0.0) if config.monitor == "loss" else (getattr(dev, config.monitor), -dev.loss)
        if best_key is None or key > best_key:
            best_key, best_epoch = key, number
            best_weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        elif number - best_epoch >= config.patience:
            break
    model.load_state_dict(best_weights)
    model.eval()
    if excluded:
        logger.warning("%d training sequences have no position to attend to and were not trained on", excluded)
    test = evaluate(model, dataset.test) if dataset.test is not None and len(dataset.test) else None
    return TrainedClassifier(
        model=model,
        classifier_config=classifier_config,
        training_config=training_config,
        classes=dataset.classes,
        vocabulary=dataset.vocabulary,
        history=tuple(history),
        best_epoch=best_epoch,
        dev=history[best_epoch - 1].dev,
        test=test,
        excluded=excluded,
        seconds=time.perf_counter() - start,
        data=dataset.name,
        fingerprint=dataset.fingerprint,
    )


def _required_splits(dataset: Dataset) -> tuple[Sequences, Sequences]:
    if dataset.train is None or len(dataset.train) == 0:
        raise ValueError(f"data {dataset.name!r} has no training split; use a model trained on other data")
    if dataset.dev is None or len(dataset.dev) == 0:
        raise ValueError(
            f"data {dataset.name!r} has no dev split, and the test split must not choose the epoch; "
            "hold out part of the training split as dev"
        )
    for name, split in dataset.splits.items():
        label = np.asarray(split.label)
        if label.size and (label.min() < 0 or label.max() >= len(dataset.classes)):
            raise ValueError(
                f"{name} labels run from {label.min()} to {label.max()} but there are {len(dataset.classes)} classes"
            )
    return dataset.train, dataset.dev


def _copy_weights(source: AttentionClassifier, target: AttentionClassifier) -> None:
    theirs, ours = source.state_dict(), target.state_dict()
    wrong = sorted(
        name
        for name in theirs.keys() | ours.keys()
        if name not in theirs or name not in ours or theirs[name].shape != ours[name].shape
    )
    if wrong:
        raise ValueError(f"initial does not fit the configuration: {', '.join(wrong)} are missing or have other shapes")
    target.load_state_dict(theirs)


def _all_but_attention(model: AttentionClassifier) -> dict[str, nn.Module]:
    parts = {"embedding": model.embedding, "encoder": model.encoder, "decoder": model.decoder}
    return {name: part for name, part in parts.items() if part is not None}


def _under_uniform_attention(
    dataset: Dataset, classifier_config: ClassifierConfig, training_config: TrainingConfig
) -> AttentionClassifier:
    """A model of the same seed that never had anything but uniform attention."""
    fixed = {"normalizer": "uniform", "normalizer_options": {}, "temperature": 1.0}
    uniform = type(classifier_config).model_validate(classifier_config.model_dump() | fixed)
    return train(dataset, uniform, training_config.model_copy(update={"freeze": "none"})).model


def _freeze(model: AttentionClassifier, freeze: Freeze) -> None:
    rest = list(_all_but_attention(model).values())
    frozen: dict[Freeze, list[nn.Module]] = {
        "none": [],
        "attention": [model.attention],
        "encoder": rest[:-1],
        "all_but_attention": rest,
        "attention_last": rest,
    }
    for module in frozen[freeze]:
        module.requires_grad_(False)
    if freeze == "all_but_attention":
        _require_trainable(model, freeze)


def _require_trainable(model: AttentionClassifier, freeze: Freeze) -> None:
    if model.config.normalizer == "uniform" or not any(p.requires_grad for p in model.attention.parameters()):
        raise ValueError(f"freeze is {freeze!r} but this attention has nothing to train")


class _Optimizer:
    """Adam for all parts; in the embedding table only the rows of a batch are updated.

    A dense update of a table of 15,000 tokens takes longer than the backward pass of the BiLSTM. The
    lazy one leaves the moments of rows without a gradient as they are.
    """

    def __init__(self, model: AttentionClassifier, config: TrainingConfig) -> None:
        decayed = [p for part in (model.encoder, model.decoder) for p in part.parameters() if p.requires_grad]
        plain = [p for p in model.attention.parameters() if p.requires_grad]
        self.clipped = decayed + plain
        self.clip_norm = config.clip_norm
        self.optimizers: list[torch.optim.Optimizer] = []
        groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        if self.clipped:
            self.optimizers.append(
                torch.optim.Adam([g for g in groups if g["params"]], lr=config.learning_rate, fused=True)
            )
        if model.embedding is not None and model.embedding.weight.requires_grad:
            self.optimizers.append(torch.optim.SparseAdam([model.embedding.weight], lr=config.learning_rate))

    def step(self, loss: Tensor) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        if math.isfinite(self.clip_norm) and self.clipped:
            nn.utils.clip_grad_norm_(self.clipped, self.clip_norm)
        for optimizer in self.optimizers:
            optimizer.step()


def _one_epoch(
    model: AttentionClassifier,
    sequences: Sequences,
    optimizer: _Optimizer,
    config: TrainingConfig,
    order: np.random.Generator,
    noise: torch.Generator,
    number: int,
) -> tuple[float, int]:
    """Mean training loss and the number of sequences that could not be used."""
    model.train()
    total, count, excluded = 0.0, 0, 0
    for indices in plan_batches(sequences.lengths, batch_size=config.batch_size, generator=order):
        batch = make_batch(sequences, indices, config.device)
        output = model(batch, generator=noise)
        defined = ~output.attention.undefined
        used = int(defined.sum())
        excluded += len(indices) - used
        if used == 0:
            continue
        label = torch.from_numpy(sequences.label[indices].astype(np.int64)).to(config.device)
        loss = nn.functional.cross_entropy(output.logits[defined], label[defined])
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ValueError(f"the training loss became {value} in epoch {number}; lower learning_rate")
        optimizer.step(loss)
        total += value * used
        count += used
    if count == 0:
        raise ValueError("no training sequence has a position to attend to; nothing can be trained")
    return total / count, excluded
