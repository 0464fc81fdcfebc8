import numpy as np
import pandas as pd
import pytest

from mi_attention.report import styled

# MI by attention rank of a prototype on sst2: prediction, gold label, uniform attention, mechanical baseline.
RANKS = {
    ("mlp", "additive"): ([0.28, 0.12, 0.07, 0.04, 0.02], [0.17, 0.07, 0.04, 0.03, 0.02]),
    ("bilstm", "additive"): ([0.56, 0.44, 0.45, 0.42, 0.42], [0.30, 0.26, 0.26, 0.26, 0.26]),
}
OUTPUTS = ("prediction", "label", "uniform prediction", "permuted attention")


@pytest.fixture
def profile():
    """Make a profile frame: two encoders, four outputs, any alignment, seeds and number of units."""

    def make(alignment="rank", seeds=3, units=5, outputs=OUTPUTS):
        random = np.random.default_rng(7)
        rows = []
        for (encoder, score), (prediction, label) in RANKS.items():
            for output in outputs:
                base = np.interp(
                    np.linspace(0, 4, units), np.arange(5), prediction if output == "prediction" else label
                )
                for seed in range(seeds):
                    for unit in range(units):
                        number = unit + (alignment == "rank")
                        rows.append(
                            {
                                "data": "sst2",
                                "encoder": encoder,
                                "score": score,
                                "normalizer": "softmax",
                                "temperature": 1.0,
                                "seed": seed,
                                "alignment": alignment,
                                "unit": f"{alignment} {number}",
                                "unit_index": unit,
                                "output": output,
                                "state": "hidden",
                                "nats": base[unit] + 0.01 * random.normal(),
                                "lower_bound": base[unit],
                                "standard_error": 0.012,
                                "ceiling": 0.69,
                                "n": 1821,
                                "attention": 1.0 / units,
                                "status": "ok",
                                "reason": "",
                                "signature": "probe:linear",
                            }
                        )
        return pd.DataFrame(rows)

    return make


@pytest.fixture
def concentration():
    def make(temperatures=(0.5, 1.0, 2.0), normalizers=("softmax", "sparsemax")):
        rows = [
            {
                "data": "sst2",
                "encoder": encoder,
                "score": "additive",
                "normalizer": normalizer,
                "temperature": temperature,
                "measure": measure,
                "estimate": 0.5 / (1 + temperature),
                "ci_low": 0.5 / (1 + temperature) - 0.03,
                "ci_high": 0.5 / (1 + temperature) + 0.03,
                "n_seeds": 5,
                "undefined_share": 0.0,
            }
            for encoder in ("mlp", "bilstm")
            for normalizer in normalizers
            for temperature in temperatures
            for measure in ("normalized_skew", "normalized_entropy", "gini")
        ]
        return pd.DataFrame(rows)

    return make


@pytest.fixture
def agreement():
    rows = []
    for encoder, tau in (("mlp", 0.31), ("bilstm", 0.07)):
        for order, output, estimate in (
            ("informativeness", "prediction", tau),
            ("informativeness", "label", tau - 0.05),
            ("head evidence", "prediction", tau + 0.1),
            ("random", "prediction", 0.0),
        ):
            rows.append(
                {
                    "data": "sst2",
                    "encoder": encoder,
                    "score": "additive",
                    "normalizer": "softmax",
                    "temperature": 1.0,
                    "estimand": "pointwise",
                    "measure": "kendall_tau_b",
                    "order": order,
                    "output": output,
                    "state": "hidden",
                    "estimate": estimate,
                    "ci_low": estimate - 0.03,
                    "ci_high": estimate + 0.03,
                    "n_seeds": 4,
                    "n_instances": 2693,
                    "undefined_share": 0.0,
                    "reason": "",
                }
            )
    return pd.DataFrame(rows)


@pytest.fixture
def planted():
    truth = [0.0, 0.3, 0.0, 0.1]
    rows = [
        {"data": data, "seed": s, "unit_index": i, "nats": t + 0.01 * s, "standard_error": 0.01, "truth": t}
        for data in ("one keyword", "Gaussian")
        for s in range(2)
        for i, t in enumerate(truth)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def check_layout():
    """Fail if a text of a figure is cut off or covers another text, or a legend covers anything."""

    def check(figure):
        with styled():
            figure.draw_without_rendering()
            renderer = figure._get_renderer()
        boxes = {}
        for axes in figure.axes:
            marks = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
            for axis in (axes.xaxis, axes.yaxis):
                # Matplotlib keeps ticks beyond the limits and does not draw them.
                low, high = sorted(axis.get_view_interval())
                marks += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            for text in marks:
                box = text.get_window_extent(renderer)
                if text.get_text() and text.get_visible() and box.width > 0:
                    boxes[text] = box
        legends = [legend.get_window_extent(renderer) for legend in figure.legends]
        for text, box in boxes.items():
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= figure.bbox.x1 + 1, text
            assert box.y1 <= figure.bbox.y1 + 1, text
            assert not any(box.overlaps(legend) for legend in legends), text
        for legend in legends:
            assert legend.x0 >= -1
            assert legend.x1 <= figure.bbox.x1 + 1
            assert not any(legend.overlaps(axes.get_window_extent(renderer)) for axes in figure.axes)
        listed = list(boxes.items())
        for number, (text, box) in enumerate(listed):
            for other, other_box in listed[number + 1 :]:
                apart = (
                    min(box.x1, other_box.x1) - max(box.x0, other_box.x0) < 2
                    or min(box.y1, other_box.y1) - max(box.y0, other_box.y0) < 2
                )
                assert apart, f"{text} covers {other}"

    return check
