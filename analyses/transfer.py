"""Is the attention of a BiLSTM, given to an MLP and kept fixed, worth more to it than its own or uniform attention?

Run: python analyses/transfer.py [--data FOLDER]; writes results/transfer.
"""

from grid import run_script

from mi_attention.study.claim_figures import claims_figure
from mi_attention.study.transfer import transfer_runs

if __name__ == "__main__":
    run_script(__file__, figure=lambda found: claims_figure(found.answers), more=transfer_runs)
