"""What the columns of a study's two tables mean, for every page that shows them."""

from __future__ import annotations

__all__ = ["CAUSAL_CHECK", "NOT_FAITHFULNESS", "RANK_COLUMNS", "RANK_NOTE", "SUMMARY_COLUMNS", "summary_note"]

_SUMMARY_NOTE = (
    "Every row pools the seeds of one combination. tau-b is Kendall's rank correlation, inside each instance, of the "
    "attention weights with the pointwise informativeness of the states about the output (here: {output}), "
    "KL(q(·|h) ‖ p) of a cross-fitted probe, averaged over instances and seeds. It is to be read against the columns "
    "beside it. {causal}"
)
CAUSAL_CHECK = (
    "The causal check erases positions in an order (weights set to 0, the rest renormalised, the prediction made "
    "again): the larger the area under the curve of its change (total variation distance), the sooner that order "
    "reaches what the prediction rests on. Every order is given less attention's own: above 0 it changes the "
    "prediction sooner than attention does, below 0 later."
)
NOT_FAITHFULNESS = (
    "Agreement is not faithfulness: it says that attention ranks states as their information does, not that the model "
    "uses them in that way."
)
SUMMARY_COLUMNS = {
    "tau": "agreement of attention with the information of states; the interval is for new seeds and new instances "
    "together (one seed: for new instances of that run)",
    "reliability": "tau-b between the orders of two probes fitted on disjoint thirds of the instances: how far the "
    "measured order repeats itself. It is not the ceiling, and tau-b may exceed it",
    "ceiling": "tau-b that an attention in the true order would reach against the measured one, at the error which the "
    "reliability shows",
    "excess": "tau-b less that of permuted attention: what is left when the arithmetic part is taken off",
    "permuted": "the mechanical baseline: the weights are shuffled within each instance, the prediction is recomputed, "
    "and everything is measured again. This much agreement is arithmetic. Inside an instance it is about 0, since "
    "shuffled weights follow no state; by attention rank it is not",
    "label": "tau-b with the gold label as output, which no attention can bring about",
    "uniform": "tau-b with the prediction of the same states under uniform weights as output",
    "embedding": "tau-b where the probe reads the input vectors instead of the states",
    "erasure_information": "causal check, erasing in the order of informativeness less erasing in that of attention",
    "erasure_head": "causal check, erasing in the order of the linear head's attended evidence a·|w·h| less erasing in "
    "that of attention",
    "erasure_random": "causal check, erasing in random order less erasing in that of attention",
    "erasure_permuted": "the same with the weights shuffled within each instance and every prediction recomputed: what "
    "attention leads a random order by from arithmetic alone",
    "head": "tau-b of attention with the order of the linear head's own evidence",
    "random": "tau-b of attention with a random order",
    "p": "one-sided: share of partner maps whose tau-b is as large as the one seen or larger, every instance having "
    "the attention of another instance of its length. It is about these runs and these instances, the interval of "
    "tau-b about new ones: a small p may stand beside an interval that holds 0",
    "partner": "mean tau-b under those partner maps",
    "skew": "normalised skewness of the attention; 1: all on one position",
    "accuracy": "of the model on held-out data",
    "majority": "accuracy of always saying the most frequent class of the training split",
    "undefined_share": "share of instances without an order in at least one of the seeds that have any, such as those "
    "with constant attention; they are left out in all seeds and counted here",
}
"""Column of ``summary`` → what it is; in the order in which a reader needs them."""

RANK_NOTE = (
    "Nats of the most attended state, the second, and so on. With the prediction as output part of the fall is "
    "arithmetic: compare it with permuted attention, where weights were shuffled and the prediction recomputed."
)
RANK_COLUMNS = {
    "ceiling": "entropy of the output, the most there can be",
    "main": "information with the output asked for",
    "label": "information with the gold label",
    "uniform": "information with the prediction under uniform weights",
    "permuted": "the mechanical baseline, ranked by its own, permuted weights",
}
"""Column of ``rank_summary`` → what it is."""


def summary_note(output: str) -> str:
    """What the table of agreements is, with the name of the output asked for."""
    return _SUMMARY_NOTE.format(output=output, causal=CAUSAL_CHECK)
