import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from mi_attention.report import (
    CONTRAST_COLUMNS,
    ERASURE_COLUMNS,
    NEAR_TIE_COLUMNS,
    ONE_COLUMN,
    TEMPERATURE_COLUMNS,
    TWO_COLUMNS,
    agreement_figure,
    contrast_figure,
    erasure_figure,
    near_tie_figure,
    save_figure,
    temperature_figure,
)

TEMPERATURES = (0.1, 0.5, 1.0, 2.0)


def bounded(frame, half=0.05):
    return frame.assign(ci_low=frame["estimate"] - half, ci_high=frame["estimate"] + half)


@pytest.fixture
def sweep():
    rows = [
        {
            "data": "sst2",
            "encoder": e,
            "score": s,
            "normalizer": n,
            "temperature": t,
            "estimate": base - 0.1 * np.log10(t),
        }
        for e in ("mlp", "bilstm")
        for s, base in (("additive", 0.3), ("scaled_dot", 0.1))
        for n in ("softmax", "gumbel_softmax")
        for t in TEMPERATURES
    ]
    return bounded(pd.DataFrame(rows))


@pytest.fixture
def near_ties():
    gaps, resolutions = (0.0, 0.05, 0.2, 1.0), (0.0, 2.0, np.inf)
    rows = [
        {
            "data": "sst2",
            "encoder": encoder,
            "gap_low": gaps[i],
            "gap_high": gaps[i + 1],
            "resolution_low": resolutions[j],
            "resolution_high": resolutions[j + 1],
            "estimate": 0.5 + 0.1 * i * (j + 1),
            "n_pairs": 100 // (i + 1),
        }
        for encoder in ("mlp", "bilstm")
        for i in range(3)
        for j in range(2)
    ]
    return bounded(pd.DataFrame(rows))


@pytest.fixture
def contrasts():
    rows = [
        ("F1", "additive", "scaled_dot", 0.12, 0.01),
        ("F1", "deep", "scaled_dot", 0.02, 0.2),
        ("F2", "bilstm", "mlp", -0.2, 0.0001),
        ("F2", "cnn", "mlp", np.nan, np.nan),
    ]
    frame = pd.DataFrame(rows, columns=["family", "first", "second", "estimate", "p_adjusted"])
    return bounded(frame.assign(reason=["", "", "", "one seed"]))


@pytest.fixture
def erasures():
    rows = [
        {"data": "sst2", "encoder": e, "score": "additive", "order": order, "share": share, "estimate": share**power}
        for e in ("mlp", "bilstm")
        for order, power in (("random", 1.0), ("attention", 0.5), ("mutual information", 0.4))
        for share in np.linspace(0, 1, 6)
    ]
    return bounded(pd.DataFrame(rows))


@pytest.fixture
def inputs(sweep, near_ties, contrasts, erasures):
    return {
        "temperature": (temperature_figure, TEMPERATURE_COLUMNS, sweep),
        "near-tie": (near_tie_figure, NEAR_TIE_COLUMNS, near_ties),
        "contrast": (contrast_figure, CONTRAST_COLUMNS, contrasts),
        "erasure": (erasure_figure, ERASURE_COLUMNS, erasures),
    }


NAMES = ("temperature", "near-tie", "contrast", "erasure")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_nothing_is_clipped_and_no_text_covers_another(inputs, check_layout, name, width):
    build, _, frame = inputs[name]
    figure = build(frame, width=width)
    assert figure.get_size_inches()[0] == width
    check_layout(figure)


@pytest.mark.parametrize("name", NAMES)
def test_frames_settings_and_bytes(inputs, name, tmp_path):
    build, columns, frame = inputs[name]
    before, settings = frame.copy(), dict(mpl.rcParams)
    first = save_figure(build(frame), tmp_path / "a", formats=("svg",))[0].read_bytes()
    assert save_figure(build(frame), tmp_path / "b", formats=("svg",))[0].read_bytes() == first
    pd.testing.assert_frame_equal(frame, before)
    assert dict(mpl.rcParams) == settings
    for column in columns:
        with pytest.raises(ValueError, match=rf"the {name} figure needs columns \['{column}'\]"):
            build(frame.drop(columns=column))


@pytest.mark.parametrize("name", NAMES)
def test_everything_undefined_is_still_a_figure(inputs, name, tmp_path):
    build, _, frame = inputs[name]
    empty = frame.assign(estimate=np.nan, ci_low=np.nan, ci_high=np.nan, reason="constant attention")
    save_figure(build(empty), tmp_path / "f", formats=("svg",))
    if name != "near-tie":
        assert "undefined" in (tmp_path / "f.svg").read_text(encoding="utf-8")


def marked(axes):
    return [line for line in axes.lines if line.get_marker() not in ("", "None", None)]


def test_temperature_lines_and_bands_are_the_frames(sweep):
    figure = temperature_figure(sweep)
    assert [axes.get_title() for axes in figure.axes] == ["sst2, MLP", "sst2, BiLSTM"]
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:2] == ["additive · softmax", "additive · gumbel softmax"]
    line = marked(axes)[0]
    np.testing.assert_array_equal(line.get_xdata(), TEMPERATURES)
    np.testing.assert_allclose(line.get_ydata(), 0.3 - 0.1 * np.log10(TEMPERATURES))
    heights = axes.collections[0].get_paths()[0].vertices
    low = heights[heights[:, 0] == 1.0][:, 1]
    np.testing.assert_allclose([low.min(), low.max()], [0.25, 0.35])
    assert len({(one.get_color(), one.get_marker(), str(one.get_linestyle())) for one in marked(axes)}) == 4


def test_temperature_levels_and_bad_frames(sweep):
    uniform = sweep.head(1).assign(normalizer="uniform", temperature=np.nan, estimate=0.123)
    figure = temperature_figure(pd.concat([sweep, uniform]))
    assert any(np.allclose(line.get_ydata(), 0.123) for line in figure.axes[0].lines)
    with pytest.raises(ValueError, match=r"at least two temperatures, got \[1.0\]"):
        temperature_figure(sweep[sweep["temperature"] == 1.0])
    with pytest.raises(ValueError, match="must be positive, got 0"):
        temperature_figure(sweep.assign(temperature=sweep["temperature"] - 0.1))
    with pytest.raises(ValueError, match="two rows for one temperature"):
        temperature_figure(pd.concat([sweep, sweep]))


def test_near_ties_stand_in_their_bins(near_ties):
    figure = near_tie_figure(near_ties)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0–0.05", "0.05–0.2", "0.2–1"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["MI gap 0 to 2 SE", "MI gap above 2 SE"]
    points = [(round(float(m.get_xdata()[0])), float(m.get_ydata()[0])) for m in marked(axes)]
    assert sorted(points) == [(0, 0.5), (0, 0.5), (1, 0.6), (1, 0.7), (2, 0.7), (2, 0.9)]
    # The first bin has three times the pairs of the last, so its marks are larger.
    assert marked(axes)[0].get_markersize() > marked(axes)[2].get_markersize()
    for wrong, message in (
        (near_ties.assign(estimate=1.2), r"in \[0, 1\]"),
        (near_ties.assign(gap_high=-1.0), "low edge at or above"),
        (pd.concat([near_ties, near_ties]), "two rows for one pair of bins"),
        (near_ties.head(0), "at least one row"),
    ):
        with pytest.raises(ValueError, match=message):
            near_tie_figure(wrong)


def test_contrasts_say_their_numbers(contrasts):
    figure = contrast_figure(contrasts, margin=0.05, groups="family")
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert [label for label in labels if label.startswith("F")] == ["F1", "F2"]
    assert labels[0] == "F1"
    said = [text.get_text() for text in axes.texts]
    assert said == [
        "0.12 [0.07, 0.17]\nadj. p = .010",
        "0.02 [−0.03, 0.07]\nadj. p = .200",
        "−0.20 [−0.25, −0.15]\nadj. p < .001",
        "undefined\n(one seed)",
    ]
    points = marked(axes)
    np.testing.assert_allclose([float(one.get_xdata()[0]) for one in points], [0.12, 0.02, -0.2])
    assert [one.get_markerfacecolor() == "white" for one in points] == [False, True, False]
    (band,) = axes.patches
    np.testing.assert_allclose([band.get_x(), band.get_width()], [-0.05, 0.1])
    assert "±0.05" in axes.get_xlabel()
    assert not contrast_figure(contrasts).axes[0].patches
    with pytest.raises(ValueError, match="margin must be positive, got -1"):
        contrast_figure(contrasts, margin=-1)
    with pytest.raises(ValueError, match="at least one row"):
        contrast_figure(contrasts.head(0))


def test_erasure_lines_are_the_frames_and_random_is_grey(erasures):
    figure = erasure_figure(erasures)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["mutual information", "attention", "random"]
    lines = figure.axes[0].lines
    np.testing.assert_allclose(lines[1].get_ydata(), np.linspace(0, 1, 6) ** 0.5)
    assert lines[2].get_color() == "0.45"
    # No mark of one order stands on a mark of another.
    marked = [{line.get_markevery()[0] + k * line.get_markevery()[1] for k in range(6)} for line in lines[:2]]
    assert not marked[0] & marked[1]
    with pytest.raises(ValueError, match=r"share must be in \[0, 1\], got 0.0 to 2.0"):
        erasure_figure(erasures.assign(share=erasures["share"] * 2))
    with pytest.raises(ValueError, match="two rows for one order and share"):
        erasure_figure(pd.concat([erasures, erasures]))


def test_wide_intervals_do_not_flatten_the_lines_of_erasure(erasures):
    wide = erasures.assign(ci_low=erasures["estimate"] - 12, ci_high=erasures["estimate"] + 12)
    low, high = erasure_figure(wide).axes[0].get_ylim()
    assert -0.1 < low <= 0
    assert 1 <= high < 1.2


def test_erasure_panels_are_told_apart_by_all_that_differs(erasures):
    swept = pd.concat(
        [erasures.assign(normalizer="softmax", temperature=temperature) for temperature in (0.5, 1.0)],
        ignore_index=True,
    )
    figure = erasure_figure(swept, width=TWO_COLUMNS)
    titles = [axes.get_title().replace("\n", " ").replace("\u00a0", " ") for axes in figure.axes]
    assert sorted(titles) == [
        f"{encoder} + additive temperature {temperature}"
        for encoder in ("BiLSTM", "MLP")
        for temperature in ("0.5", "1")
    ]
    assert figure.get_suptitle() == "sst2, softmax"


def test_agreement_is_drawn_with_what_it_is_read_against(agreement, check_layout):
    plain = len(marked(agreement_figure(agreement).axes[0]))
    leading = (agreement["order"] == "informativeness") & (agreement["output"] == "prediction")
    frame = agreement.assign(
        null_mean=np.where(leading, 0.02, np.nan),
        reliability=np.where(leading, 0.61, np.nan),
        ceiling=np.where(agreement["encoder"] == "mlp", 0.83, np.nan),
    )
    for width in (ONE_COLUMN, TWO_COLUMNS):
        figure = agreement_figure(frame, width=width)
        check_layout(figure)
    axes = figure.axes[0]
    assert len(marked(axes)) == plain + 2 + 2 + 4
    at = {float(line.get_xdata()[0]) for line in marked(axes)}
    assert {0.02, 0.61, 0.83} <= at
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[-3:] == ["mean of the null", "split-half reliability", "ceiling of tau"]
    # A reference stands at the height of the mark it belongs to.
    heights = {line.get_ydata()[0] for line in marked(axes) if line.get_xdata()[0] in (0.31, 0.02, 0.61)}
    assert len(heights) == 2
