"""Claim (iii): is the order of nearly equal weights unrelated to that of information, beyond equal information?

Run: python analyses/near_ties.py [--data FOLDER]; writes results/near_ties.
"""

from grid import run_script
from matplotlib.figure import Figure

from mi_attention.agreement.near_ties import CONCORDANCE
from mi_attention.report import TWO_COLUMNS, near_tie_figure
from mi_attention.study.settle import Found


def figure(found: Found) -> Figure:
    """Concordance by gap of attention, resolved pairs apart from unresolved ones, over seeds."""
    pairs = found.long_table("core", "near_ties").query("estimand == 'pointwise' and output == 'label'")
    chosen = pairs[(pairs["quantity"] == CONCORDANCE) & (pairs["score"] == "additive")]
    split = chosen[(chosen["resolution_low"] > 0) | (chosen["resolution_high"] < float("inf"))]
    return near_tie_figure(split, panels=("data", "encoder"), width=TWO_COLUMNS)


if __name__ == "__main__":
    run_script(__file__, figure=figure)
