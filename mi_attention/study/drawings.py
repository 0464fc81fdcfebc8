"""The figures of a study: which there are, what each shows, and drawing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import pandas as pd
from matplotlib.figure import Figure

from mi_attention.report import (
    CELL,
    ONE_COLUMN,
    TWO_COLUMNS,
    agreement_figure,
    concentration_figure,
    erasure_figure,
    planted_figure,
    position_figure,
    rank_figure,
    save_figure,
    split_cells,
)
from mi_attention.study.contrast_outputs import latex_label
from mi_attention.study.tables import StudyTables

__all__ = ["Drawing", "draw", "drawings_of"]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure to be drawn.

    Attributes:
        make: Makes it from the frame.
        frame: Its rows.
        stem: Where to, without an ending.
        title: What it is of.
        caption: How to read it.
    """

    make: Callable[[pd.DataFrame], Figure]
    frame: pd.DataFrame
    stem: Path
    title: str
    caption: str

    def save(self, signature: str) -> list[Path]:
        """Draw it and write it in three formats."""
        return save_figure(self.make(self.frame), self.stem, signature=signature, title=self.stem.name)


# Panels that a figure in one column has room for.
_ONE_COLUMN = 4


def _erasure(frame: pd.DataFrame) -> Figure:
    panels = len(frame[list(CELL)].drop_duplicates())
    return erasure_figure(frame, width=ONE_COLUMN if panels <= _ONE_COLUMN else TWO_COLUMNS)


# Kind → function, title of the figure of one data set, caption.
_KINDS: dict[str, tuple[Callable[[pd.DataFrame], Figure], str, str]] = {
    "agreement": (
        agreement_figure,
        "Agreement of attention with other orders, {data}",
        "Kendall's tau-b inside an instance, with intervals. An order that attention follows better than that of the "
        "information says what attention may follow instead.",
    ),
    "erasure": (
        _erasure,
        "What erasing positions does to the prediction, {data}",
        "Change of the prediction (total variation distance) when a share of the positions is erased in an order: "
        "weights to 0, the rest renormalised. The line that rises sooner is that of the order which reaches sooner "
        "what the prediction rests on. Means over seeds, with intervals over them (one seed: over instances); the axis "
        "is that of the lines, and a band may be wider than it.",
    ),
    "rank": (
        rank_figure,
        "Information by attention rank, {data}",
        "Mutual information of the most attended state, the second, and so on; means over seeds. Only the fall beyond "
        "that of permuted attention is more than arithmetic.",
    ),
    "position": (
        position_figure,
        "Information by position, {data}",
        "Mutual information of the state at every position with each output; means over seeds.",
    ),
    "truth": (
        planted_figure,
        "Estimated and planted information, {data}",
        "What was planted is the information of the input at a position, and the truth of states that see one position "
        "(embedding, mlp). A state of an encoder that mixes positions may hold what the whole instance holds: there "
        "the planted information is a landmark, no truth, and an estimate above it no error.",
    ),
    "concentration": (
        concentration_figure,
        "Concentration of the attention",
        "How much of the attention lies on few positions, by several measures, with intervals.",
    ),
}


def drawings_of(tables: StudyTables, target: Path) -> list[Drawing]:
    """Every figure the tables allow; one file a data set and kind, more where a data set has many cells.

    Args:
        tables: The study's tables.
        target: The folder of the figures.

    Returns:
        What to draw, what answers the question of the study first.
    """
    found: list[Drawing] = []

    def add(kind: str, frame: pd.DataFrame, data: str = "", most: int | None = 12) -> None:
        make, title, caption = _KINDS[kind]
        parts = [] if not len(frame) else [frame] if most is None else split_cells(frame, most)
        stem = f"{kind}-{latex_label(data)}" if data else kind
        for number, part in enumerate(parts, start=1):
            several = len(parts) > 1
            place = target / (f"{stem}-{number}" if several else stem)
            name = title.format(data=data) + (f" ({number} of {len(parts)})" if several else "")
            found.append(Drawing(make, part, place, name, caption))

    profile = tables.profile.assign(score=_setting(tables.profile))
    agreement = tables.agreement.assign(score=_setting(tables.agreement))
    agreement = agreement[(agreement["estimand"] == "pointwise") & (agreement["measure"] == "kendall_tau_b")]
    agreement = agreement[(agreement["order"] != "support") & ~agreement["output"].str.contains(" minus ")]
    names = list(dict.fromkeys([*agreement["data"], *(profile["data"] if len(profile) else ())]))
    erasure = _curves(tables)
    for data in names:
        add("agreement", agreement[agreement["data"] == data], data)
        add("erasure", erasure[erasure["data"] == data], data)
    for data in names if len(profile) else ():
        here = profile[profile["data"] == data]
        add("rank", here[here["alignment"] == "rank"], data)
        add("position", here[here["alignment"] == "position"], data)
        known = here[here["truth"].notna() & (here["state"] == "hidden")] if "truth" in here else here.iloc[:0]
        add("truth", known, data, None)
    if len(tables.concentration):
        chosen = tables.concentration.assign(score=_setting(tables.concentration))
        swept = chosen[["normalizer", "temperature"]].drop_duplicates().shape[0] > 1
        add("concentration", chosen[chosen["measure"] != "tied_pair_share"], most=12 if swept else 40)
    return found


def _curves(tables: StudyTables) -> pd.DataFrame:
    """Curves of erasure about the output asked for, under the attention of the model."""
    curves = tables.long_table("erasure_curves")
    if not len(curves):
        return pd.DataFrame(columns=["data"])
    chosen = curves[curves["output"].isin([tables.output, ""]) & (curves["quantity"] == "change")]
    # The order of information by rank is nearly that of attention: their lines would cover each other.
    chosen = chosen[(chosen["state"] != "embedding") & (chosen["order"] != "mutual information by rank")]
    return chosen.assign(score=_setting(chosen))


def draw(drawings: Sequence[Drawing], signature: str, workers: int) -> list[Path]:
    """Draw figures into their files; returns these, in the order of the drawings whatever the number of workers."""
    if workers == 1 or len(drawings) < 3:
        written = [drawing.save(signature) for drawing in drawings]
    else:
        # Drawing in three formats takes seconds a figure, as long as a small cell.
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            jobs = (joblib.delayed(drawing.save)(signature) for drawing in drawings)
            written = joblib.Parallel(n_jobs=workers, batch_size=1)(jobs)
    return [path for paths in written for path in paths]


def _setting(frame: pd.DataFrame) -> pd.Series[str]:
    """The score with what else tells cells apart and figures have no axis for."""
    if not len(frame):
        return pd.Series(dtype=str)
    frozen = frame["freeze"].map(lambda name: "" if name == "none" else f", frozen: {name}")
    return frame["score"] + frozen
