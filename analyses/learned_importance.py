"""Claim (ii): does additive attention learn which of its inputs matter?

Run: python analyses/learned_importance.py [--data FOLDER]; writes results/learned_importance.
"""

from grid import run_script

from mi_attention.study.claim_figures import claims_figure

if __name__ == "__main__":
    run_script(__file__, figure=lambda found: claims_figure(found.answers))
