"""Does the agreement of attention with information fall as capacity and accuracy rise?

Run: python analyses/capacity.py [--data FOLDER]; writes results/capacity.
"""

import numpy as np
import pandas as pd
from grid import run_script
from matplotlib.figure import Figure

from mi_attention.study.claim_figures import sweep_figure
from mi_attention.study.settle import Found


def figure(found: Found) -> Figure:
    """Agreement inside instances, its ceiling, and accuracy, against the number of units."""
    tau = found.rows(estimand="pointwise", order="informativeness", output="label", state="hidden")
    parts = {
        "agreement (tau-b)": tau,
        "its ceiling": tau.assign(estimate=tau["ceiling"], ci_low=np.nan, ci_high=np.nan),
        "test accuracy": found.rows(estimand="training", measure="test_accuracy"),
    }
    lines = pd.concat([part.assign(score=name) for name, part in parts.items()])
    return sweep_figure(lines, "variant", axis="units (log scale)", label="tau-b, or share correct")


if __name__ == "__main__":
    run_script(__file__, figure=figure)
