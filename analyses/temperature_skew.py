"""Claim (iv): is Gumbel-softmax below temperature 1 more skewed than softmax there, and better for it?

Run: python analyses/temperature_skew.py [--data FOLDER]; writes results/temperature_skew.
"""

from grid import run_script
from matplotlib.figure import Figure

from mi_attention.study.claim_figures import sweep_figure
from mi_attention.study.settle import Found


def figure(found: Found) -> Figure:
    """Skew against temperature, one line a normaliser."""
    return sweep_figure(
        found.rows(estimand="concentration", measure="normalized_skew"),
        "temperature",
        axis="temperature (log scale)",
        label="normalised skew\n(−1 to 1)",
    )


if __name__ == "__main__":
    run_script(__file__, figure=figure)
