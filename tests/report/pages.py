"""Pages for the tests: tokens that try to be markup, and as many texts as asked for."""

import numpy as np
import pandas as pd

from mi_attention.report import (
    HtmlFigure,
    HtmlInstances,
    HtmlPage,
    HtmlSentence,
    HtmlTable,
    rank_figure,
    save_figure,
)

HOSTILE = (
    "<img src=x onerror=window.harmed=1>",
    "</script><script>window.harmed=1</script>",
    "<!--<script>",
    "-->",
    "\"'><svg/onload=window.harmed=1>",
    "{{ 7 * 7 }}{% raw %}",
    "a\u2028b\u2029c",
    "&lt;b&gt;",
    "@@@@@@@@@",
    "javascript:window.harmed=1",
    "\\u003cscript>",
    "שלום",
    "\u202egnp.exe",
    "half \ud800 a pair",
)


def instances(n=40, words=12, seed=0, title="texts", vocabulary=("alpha", "beta", "gamma", "delta", *HOSTILE)):
    """``n`` texts of 2 to ``words`` words; the last text has no informativeness."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, words + 1, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    owner = np.repeat(np.arange(n), lengths)
    weights = random.gamma(3.0, size=offsets[-1])
    informativeness = random.gamma(2.0, size=offsets[-1])
    informativeness[owner == n - 1] = np.nan
    tau = random.uniform(-1, 1, n)
    tau[-1] = np.nan
    return HtmlInstances(
        title=title,
        vocabulary=vocabulary,
        token_ids=random.integers(0, len(vocabulary), offsets[-1]),
        attention=weights / np.bincount(owner, weights)[owner],
        informativeness=informativeness,
        offsets=offsets,
        label=random.integers(0, 2, n),
        prediction=random.integers(0, 2, n),
        probability=random.uniform(0.5, 1, n),
        classes=("<b>negative</b>", "positive"),
        measures={"tau-b": tau},
        note="Made up.",
    )


def table(rows=6):
    frame = pd.DataFrame(
        {
            "name": [HOSTILE[i % len(HOSTILE)] if i % 2 else f"row {i}" for i in range(rows)],
            "estimate": [(-1) ** i * 10.0 ** (i % 6 - 3) * (1 + i // 6) for i in range(rows)],
            "n": np.arange(rows) * 1000,
        }
    )
    frame["ci_low"], frame["ci_high"] = frame["estimate"] - 0.5, frame["estimate"] + 0.5
    frame.loc[2, ["estimate", "ci_low", "ci_high"]] = np.nan
    return HtmlTable(frame, title="Table <i>", columns=["name", "estimate", "ci_low", "ci_high", "n"])


def page(profile, tmp_path, **changes):
    """A page with something of everything."""
    (svg,) = save_figure(rank_figure(profile), tmp_path / "figure", formats=("svg",))
    row = {"estimate": 0.31, "ci_low": 0.28, "ci_high": 0.34, "n_seeds": 4, "measure": "kendall_tau_b"}
    claim = {**row, "claim": f"It agrees {HOSTILE[0]}", "verdict": "supported", "direction": "greater"}
    parts = {
        "title": f"Title {HOSTILE[1]}",
        "description": HOSTILE[0],
        "sentences": [HtmlSentence.from_row(claim, "claim", heading=HOSTILE[2])],
        "tables": [table()],
        "figures": [HtmlFigure.read(svg, HOSTILE[0], "a caption")],
        "instances": [instances(), instances(seed=1, title=HOSTILE[4])],
        "methods": HOSTILE[4],
        "references": [HOSTILE[1]],
        "bibtex": HOSTILE[0],
        "notes": [HOSTILE[3]],
        "signature": HOSTILE[1],
    }
    return HtmlPage(**{**parts, **changes})
