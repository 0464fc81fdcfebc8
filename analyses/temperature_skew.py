"""Claim (iv): is Gumbel-softmax below temperature 1 more skewed than softmax there, and better for it?

Run: python analyses/temperature_skew.py [--data FOLDER]; writes results/temperature_skew.
"""

from grid import run_script
from matplotlib.figure import Figure

from mi_attention.study.claim_figures import sweep_figure
from mi_attention.study.settle import Found

NAMES = {
    "gumbel_softmax": "Gumbel-softmax, noise off",
    "gumbel_softmax(evaluation=samples, samples=1)": "Gumbel-softmax, one draw",
    "gumbel_softmax(evaluation=samples, samples=32)": "Gumbel-softmax, mean of 32 draws",
}


def figure(found: Found) -> Figure:
    """Skew against temperature, one line a normaliser."""
    skew = found.rows(estimand="concentration", measure="normalized_skew")
    return sweep_figure(
        skew.assign(normalizer=skew["normalizer"].replace(NAMES)),
        "temperature",
        axis="temperature (log scale)",
        label="normalised skew\n(−1 to 1)",
    )


if __name__ == "__main__":
    run_script(__file__, figure=figure)
