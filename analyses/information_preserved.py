"""Claim (i): do additive and deep attention keep more of what the states say than scaled dot-product attention?

Run: python analyses/information_preserved.py [--data FOLDER]; writes results/information_preserved.
"""

from grid import run_script

from mi_attention.study.claim_figures import claims_figure

if __name__ == "__main__":
    run_script(__file__, figure=lambda found: claims_figure(found.answers))
