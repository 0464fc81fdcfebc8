"""The grid of analyses/ made tiny: the same studies, axes and names, on planted data of seconds."""

from __future__ import annotations

import re
from pathlib import Path

ANALYSES = Path(__file__).resolve().parents[2] / "analyses"
_SOURCE = re.compile(r"\[\[data\]\]\n(?:[^\[\n].*\n)+")


def write_tiny_grid(
    target: Path, *, seeds: int, n: tuple[int, int, int] = (60, 20, 80), sources: int = 1, names: tuple[str, ...] = ()
) -> Path:
    """Copy the studies with every source of data replaced by planted sequences under its name.

    Args:
        target: Folder to write.
        seeds: Number of seeds.
        n: Sequences of a source: train, dev, test.
        sources: Most sources of a study.
        names: Study files copied; all by default. The variants of ``grid.toml`` are kept for those.
    """
    target.mkdir(parents=True)
    kept = []
    for path in sorted((ANALYSES / "grid").glob("*.toml")):
        if path.stem != "grid" and (not names or path.stem in names):
            kept.append(path.stem)
            (target / path.name).write_text(
                _tiny(path.read_text(encoding="utf-8"), seeds, n, sources), encoding="utf-8"
            )
    variants = (ANALYSES / "grid" / "grid.toml").read_text(encoding="utf-8").split("[variants.")
    wanted = [f"[variants.{part}" for part in variants[1:] if part.partition("]")[0] in kept]
    (target / "grid.toml").write_text("\n".join(wanted), encoding="utf-8")
    return target


def _tiny(text: str, seeds: int, n: tuple[int, int, int], sources: int) -> str:
    def planted(found: re.Match[str]) -> str:
        title = re.search(r'title = "([^"]+)"', found[0]) or re.search(r'path = "([^/"]+)', found[0])
        label = title[1] if title else re.search(r'name = "([^"]+)"', found[0])[1]  # type: ignore[index]
        classes = 5 if label == "docstrings" else 2
        # Another seed for every source, since a study refuses two sources of one content.
        lines = [
            "[[data]]",
            'name = "planted/keywords"',
            f'title = "{label}"',
            f"n = {list(n)}",
            f"classes = {classes}",
        ]
        return "\n".join([*lines, "length = 6", f"seed = {sum(map(ord, label))}", "", ""])

    for extra in list(_SOURCE.finditer(text))[: sources - 1 : -1]:
        text = text[: extra.start()] + text[extra.end() :]
    text = _SOURCE.sub(planted, text)
    text = re.sub(r"seeds = .*", f"seeds = {list(range(seeds))}", text)
    text = text.replace("units = 32", "units = 4").replace("epochs = 8", "epochs = 1")
    text = text.replace("learning_rate = 2e-3", "learning_rate = 2e-2")
    return text.replace("[analysis]", "[analysis]\nnull_draws = 19\nranks = 2\nminimum = 10")
