"""The page of all claims: fills results/README.md from the claim.json of every script, and types no number.

Run: python analyses/story.py
"""

from pathlib import Path

from mi_attention.study.story import write_story

ROOT = Path(__file__).resolve().parent.parent
ORDER = (
    "information_preserved",
    "learned_importance",
    "near_ties",
    "temperature_skew",
    "building_blocks",
    "contextualisation",
    "beyond_argmax",
    "capacity",
    "transfer",
)
BEFORE = """
# Five claims about attention and information, settled

Wen, Subbalakshmi and Yang (2022) say of attention layers that (i) additive and deep attention are likely to keep
more of what hidden states say about the output than scaled dot-product attention; (ii) additive attention can learn
to explain the importance of its inputs; (iii) where weights are nearly equal, their order is not that of the
information; (iv) Gumbel-softmax below temperature 1 tends to make attention more skewed; (v) some pairs of encoder
and attention keep the two orders together better, BiLSTM with additive attention among them. No code of theirs is
public. Each claim was written down here with the rows that decide, a direction and the smallest difference that
would matter ([claims.toml](../analyses/claims.toml)) before a run of it existed ([PLAN.md](../analyses/PLAN.md)),
but for those that say otherwise below their table, and is settled by one script. Four questions beyond the paper
follow.

**How to read the tables.** A contrast is *supported* where its interval lies on the side claimed and its p,
corrected by Holm over the contrasts of the claim, is at most .05. It is *contradicted* where the hypothesis of a
difference that would matter, on the side claimed, is rejected with the same correction and the interval does not
lie on that side: the difference is *the other way round*, or *no difference that matters*. Claims that two things
are alike are tested the other way round, by two one-sided tests within what would not matter, and contradicted
where they *differ by more than matters*. A claim is supported where all of its contrasts are, contradicted where
none is supported and at least one contradicted, undecided otherwise; *on average* says that some data set or
encoder, taken alone, says the opposite by its own interval (column *parts*: how many say what is claimed,
uncorrected). A supported difference whose whole interval lies within what would not matter is counted as too small
to matter. *p (Holm)* is the largest of the contrasts that made the verdict, and belongs to the verdict: of a
contradicted claim it is that of the contradiction. Contrasts are paired by seed; intervals are for new seeds on
these instances. Reliability is that of the order of information, ceiling the agreement that attention in the true
order would reach, limit the smallest information of one state that would have been detected in half of all cases at
that number of instances. Agreement *by position* ranks the positions of a data set, or its bins of relative
position: five to ten of them.
"""
AFTER = """
## How our reading of the paper could be wrong

Only its abstract could be checked. Which data, encoders, queries, estimators, correlations and temperatures it used
is not known to us, and nothing here reproduces a number of it. Where a word of the abstract can mean several things,
a choice was made: *preserve information* is read as attention weight on informative states, and as information of the
context; *explain importance* as the order of known information and of human evidence; *nearly the same* as a gap of
at most a twentieth of the largest weight; *skewed* as normalised skewness; *correlation of the ordered lists* as
Kendall's tau-b, inside instances and by position. The paper hedges ("likely", "tends to"): an average over our data
sets that fails to show an effect does not say that there is none elsewhere. Agreement is not faithfulness: attention
that ranks states as their information does need not be what the model uses.

Information is what the probe can read: a linear one in most runs, the default probe in a few (claim (i), BiLSTM on
planted data). Models are small, trained for few epochs, with one layer of attention. With eight seeds a difference must
be about as large as its own spread between seeds to be told from none. What was planned and what was cut:
[PLAN.md](../analyses/PLAN.md).

## Making it again

`python analyses/NAME.py --data FOLDER` makes one part from a fresh clone, `python analyses/grid.py --data FOLDER`
runs all of the grid first. Without the folder the parts on data that every installation has are made and written to
`runs/results`.
"""

if __name__ == "__main__":
    print(write_story(ROOT / "results", ORDER, before=BEFORE, after=AFTER, target=ROOT / "results" / "README.md"))
