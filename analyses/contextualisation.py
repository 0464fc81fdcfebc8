"""From embeddings over MLP and CNN to BiLSTM: what do states hold beyond their input, and what of it is theirs alone?

Run: python analyses/contextualisation.py [--data FOLDER]; writes results/contextualisation.
"""

from grid import run_script

from mi_attention.study.claim_figures import claims_figure

if __name__ == "__main__":
    run_script(__file__, figure=lambda found: claims_figure(found.answers))
