"""Claim (v): do a BiLSTM encoder and additive attention keep the order of information best?

Run: python analyses/building_blocks.py [--data FOLDER]; writes results/building_blocks.
"""

import pandas as pd
from grid import run_script
from matplotlib.figure import Figure

from mi_attention.study.claim_figures import claims_figure
from mi_attention.study.factorial import factorial_table
from mi_attention.study.settle import Found


def figure(found: Found) -> Figure:
    """The contrasts of the claims."""
    return claims_figure(found.answers)


def factorial(found: Found) -> pd.DataFrame:
    """Encoder by score on the taus of single instances, clustered by seed and instance; one model a data set."""
    row = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": "informativeness", "output": "label"}
    return factorial_table(found.cells("core"), found.store, ("encoder", "score"), **row)


if __name__ == "__main__":
    run_script(__file__, figure=figure, tables={"factorial": factorial})
