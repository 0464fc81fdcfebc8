"""Checkpoints: weights as safetensors, everything else as JSON; never pickle."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from mi_attention.data.dataset import Vocabulary
from mi_attention.models.classifier import AttentionClassifier
from mi_attention.models.config import ClassifierConfig, TrainingConfig
from mi_attention.models.evaluation import Evaluation
from mi_attention.models.training import Epoch, TrainedClassifier

__all__ = ["load_checkpoint", "save_checkpoint", "weights_hash"]

_FORMAT = 1
_MANIFEST = "checkpoint.json"


def weights_hash(model: nn.Module) -> str:
    """SHA-256 over names, types, shapes and bytes of all weights, in order of name."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        array = value.detach().cpu().contiguous().numpy()
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def save_checkpoint(trained: TrainedClassifier, directory: str | os.PathLike[str]) -> Path:
    """Write a checkpoint, replacing one that is there.

    The weights go into a file named after their hash, then ``checkpoint.json``, which names that file, is
    put in place by an atomic rename: a reader finds the old checkpoint or the new one, never a mixture.

    Args:
        trained: What ``train`` returned.
        directory: Made if it does not exist.

    Returns:
        The directory.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    digest = weights_hash(trained.model)
    weights_name = f"weights-{digest[:16]}.safetensors"
    state = {name: value.detach().cpu().contiguous().clone() for name, value in trained.model.state_dict().items()}
    manifest = {
        "format": _FORMAT,
        "weights": weights_name,
        "sha256": digest,
        "torch": torch.__version__,
        "input": {
            "vocabulary_size": trained.model.vocabulary_size,
            "embedding_size": trained.model.embedding_size,
        },
        "classifier": trained.classifier_config.model_dump(mode="json"),
        "training": trained.training_config.model_dump(mode="json"),
        "classes": list(trained.classes),
        "vocabulary": None if trained.vocabulary is None else asdict(trained.vocabulary),
        "history": [asdict(epoch) for epoch in trained.history],
        "best_epoch": trained.best_epoch,
        "dev": asdict(trained.dev),
        "test": None if trained.test is None else asdict(trained.test),
        "excluded": trained.excluded,
        "seconds": trained.seconds,
        "data": trained.data,
        "fingerprint": trained.fingerprint,
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as scratch:
        new_weights, new_manifest = Path(scratch) / weights_name, Path(scratch) / _MANIFEST
        save_file(state, new_weights)
        new_manifest.write_text(text, encoding="utf-8")
        os.replace(new_weights, folder / weights_name)
        os.replace(new_manifest, folder / _MANIFEST)
    for stale in folder.glob("weights-*.safetensors"):
        if stale.name != weights_name:
            stale.unlink(missing_ok=True)
    return folder


def load_checkpoint(directory: str | os.PathLike[str]) -> TrainedClassifier:
    """Read a checkpoint onto the CPU; predictions are those of the saved model, to the bit.

    Scores, normalisers and encoders of your own must be registered before.

    Args:
        directory: What ``save_checkpoint`` wrote.

    Raises:
        ValueError: If a file is missing, damaged, of another format, or does not fit the others.
    """
    folder = Path(directory)
    manifest = _read_manifest(folder)
    try:
        classifier_config = ClassifierConfig.model_validate(manifest["classifier"])
        training_config = TrainingConfig.model_validate(manifest["training"])
        vocabulary = manifest["vocabulary"]
        model = _build(manifest, classifier_config)
        _load_weights(model, folder, manifest)
        model.eval()
        return TrainedClassifier(
            model=model,
            classifier_config=classifier_config,
            training_config=training_config,
            classes=tuple(manifest["classes"]),
            vocabulary=None
            if vocabulary is None
            else Vocabulary(**{**vocabulary, "tokens": tuple(vocabulary["tokens"])}),
            history=tuple(Epoch(**{**epoch, "dev": Evaluation(**epoch["dev"])}) for epoch in manifest["history"]),
            best_epoch=manifest["best_epoch"],
            dev=Evaluation(**manifest["dev"]),
            test=None if manifest["test"] is None else Evaluation(**manifest["test"]),
            excluded=manifest["excluded"],
            seconds=manifest["seconds"],
            data=manifest["data"],
            fingerprint=manifest["fingerprint"],
        )
    except ValidationError as error:
        raise ValueError(f"{folder / _MANIFEST} holds a configuration that is not valid: {error}") from error
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{folder / _MANIFEST} lacks or misnames {error}; it was not written by this version"
        ) from error


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    if not path.is_file():
        raise ValueError(f"directory {str(folder)!r} has no {_MANIFEST}; give a directory that save_checkpoint wrote")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        raise ValueError(f"{path} has format {found!r}; this version reads format {_FORMAT}")
    return manifest


def _build(manifest: dict[str, Any], config: ClassifierConfig) -> AttentionClassifier:
    size, entries = int(manifest["input"]["embedding_size"]), manifest["input"]["vocabulary_size"]
    classes = len(manifest["classes"])
    if entries is None:
        return AttentionClassifier(config, classes=classes, vector_size=size)
    # The table's width may have come from pretrained vectors, which a checkpoint does not need again.
    sized = config.model_copy(update={"embedding_size": size})
    model = AttentionClassifier(sized, classes=classes, vocabulary_size=int(entries))
    model.config = config
    return model


def _load_weights(model: AttentionClassifier, folder: Path, manifest: dict[str, Any]) -> None:
    path = folder / Path(str(manifest["weights"])).name
    if not path.is_file():
        raise ValueError(f"{folder / _MANIFEST} names the weights {path.name}, which are missing")
    try:
        state: dict[str, Tensor] = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    own = model.state_dict()
    wrong = sorted(
        name
        for name in own.keys() | state.keys()
        if name not in own or name not in state or own[name].shape != state[name].shape
    )
    if wrong:
        raise ValueError(
            f"{path} does not fit the configuration: {', '.join(wrong)} missing, surplus or of other shape"
        )
    model.load_state_dict(state)
    if weights_hash(model) != manifest["sha256"]:
        raise ValueError(f"{path} has other contents than {_MANIFEST} recorded; the files belong to different runs")
