"""Does attention follow the information about each class's probability as it follows that about the decision?

Run: python analyses/beyond_argmax.py [--data FOLDER]; writes results/beyond_argmax.
"""

from grid import run_script

from mi_attention.study.claim_figures import claims_figure

if __name__ == "__main__":
    run_script(__file__, figure=lambda found: claims_figure(found.answers))
