import numpy as np
import pytest

from mi_attention.report import ONE_COLUMN, TWO_COLUMNS, concentration_figure, save_figure


@pytest.fixture
def cells(concentration):
    """Two encoders on two data sets, one normaliser and one temperature; every cell has a value of its own."""
    one = concentration(temperatures=(1.0,), normalizers=("softmax",))
    frame = one.loc[np.repeat(one.index, 2)].reset_index(drop=True)
    frame["data"] = np.tile(["sst2", "planted/keywords"], len(one))
    frame = frame.sort_values("data", kind="stable", ignore_index=True)
    frame["estimate"] = np.linspace(0.1, 0.9, len(frame))
    frame["ci_low"], frame["ci_high"] = frame["estimate"] - 0.03, frame["estimate"] + 0.05
    return frame.assign(reason="")


def dots(axes):
    """(row, value, face colour) of the dots of a panel, from top to bottom."""
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    found = [(float(m.get_ydata()[0]), float(m.get_xdata()[0]), m.get_markerfacecolor()) for m in marks]
    return sorted(found)


def bars(axes):
    return sorted(tuple(path.vertices[:, 0]) for lines in axes.collections for path in lines.get_paths())


def test_one_row_a_cell_and_one_panel_a_measure(cells):
    figure = concentration_figure(cells)
    assert len(figure.axes) == 3
    # Side by side: the same height, from left to right.
    assert len({axes.get_subplotspec().rowspan.start for axes in figure.axes}) == 1
    assert [axes.get_subplotspec().colspan.start for axes in figure.axes] == [0, 1, 2]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "planted/keywords · MLP + additive",
        "planted/keywords · BiLSTM + additive",
        "sst2 · MLP + additive",
        "sst2 · BiLSTM + additive",
    ]
    assert figure.get_suptitle() == "softmax, temperature\u00a01"
    assert not figure.legends
    for axes, measure in zip(figure.axes, ("normalized_skew", "normalized_entropy", "gini"), strict=True):
        rows = cells[cells["measure"] == measure]
        assert [row for row, _, _ in dots(axes)] == [0, 1, 2, 3]
        np.testing.assert_allclose([value for _, value, _ in dots(axes)], rows["estimate"])
        np.testing.assert_allclose(bars(axes), rows[["ci_low", "ci_high"]])
        # The first row stands at the top.
        assert axes.get_ylim() == (3.5, -0.5)


def test_only_a_single_normaliser_and_temperature_is_compact(concentration):
    def panels(**settings):
        return len(concentration_figure(concentration(**settings)).axes)

    # Two cells and three measures: six panels of a sweep, three of the compact form.
    assert panels(temperatures=(1.0,), normalizers=("softmax",)) == 3
    assert panels(temperatures=(1.0, 2.0), normalizers=("softmax",)) == 6
    assert panels(temperatures=(1.0,), normalizers=("softmax", "sparsemax")) == 6


def test_a_single_normaliser_without_temperature_is_compact(cells):
    figure = concentration_figure(cells.assign(normalizer="uniform", temperature=np.nan))
    assert len(figure.axes) == 3
    assert figure.get_suptitle() == "uniform"


def test_what_is_missing_is_said_in_its_row_and_explained_below(cells):
    values = ["estimate", "ci_low", "ci_high"]
    gini = cells.index[cells["measure"] == "gini"]
    cells.loc[gini[0], values] = np.nan
    cells.loc[gini[0], "reason"] = "fewer than 100 instances"
    cells.loc[gini[1], ["ci_low", "ci_high"]] = np.nan
    cells.loc[gini[1], "reason"] = "one seed"
    cells = cells.drop(index=gini[3])
    axes = concentration_figure(cells).axes
    assert [(text.get_position()[1], text.get_text()) for text in axes[2].texts] == [
        (0, "undefined"),
        (3, "not computed"),
    ]
    assert [(row, face == "white") for row, _, face in dots(axes[2])] == [(1, True), (2, False)]
    assert len(bars(axes[2])) == 1
    note = " ".join(axes[2].get_xlabel().split())
    assert note == (
        "Gini (0 = uniform) 1 of 3 undefined (fewer than 100 instances) 1 without interval, hollow (one seed)"
    )
    assert axes[0].get_xlabel() == "normalised skew\n(−1 to 1)"
    assert all(face != "white" for _, _, face in dots(axes[0]))


def test_an_interval_beyond_the_range_is_not_cut(cells):
    cells.loc[cells["measure"] == "gini", "ci_high"] = 1.7
    (axes,) = concentration_figure(cells, measures=("gini",)).axes
    assert [high for _, high in bars(axes)] == [1.7] * 4
    assert axes.get_xlim()[1] > 1.7


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
@pytest.mark.parametrize("defined", [True, False])
def test_no_text_is_cut_off_or_covered(cells, check_layout, width, defined, tmp_path):
    if not defined:
        cells[["estimate", "ci_low", "ci_high"]] = np.nan
        cells["reason"] = "fewer than 100 instances"
    figure = concentration_figure(cells, width=width)
    check_layout(figure)
    save_figure(figure, tmp_path / "f", formats=("svg",))
