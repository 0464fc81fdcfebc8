"""Does the agreement of attention with information fall as capacity and accuracy rise?

Run: python analyses/capacity.py [--data FOLDER]; writes results/capacity.
"""

from grid import run_script
from matplotlib.figure import Figure

from mi_attention.study.claim_figures import sweep_figure
from mi_attention.study.settle import Found


def figure(found: Found) -> Figure:
    """Agreement inside instances against the number of units."""
    tau = found.rows(estimand="pointwise", order="informativeness", output="label", state="hidden")
    return sweep_figure(tau, "variant", axis="units (log scale)", label="tau-b (−1 to 1)")


if __name__ == "__main__":
    run_script(__file__, figure=figure)
