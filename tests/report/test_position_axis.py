import numpy as np
import pandas as pd
import pytest

from mi_attention.report import ONE_COLUMN, TWO_COLUMNS, planted_figure, position_figure
from mi_attention.report.curves import unit_numbers
from mi_attention.report.position_axis import relative_bins


def binned(frame, count):
    """The frame with its units named as the bins of relative position are."""
    low = frame["unit_index"]
    return frame.assign(unit=[f"{b / count:.2g} to {(b + 1) / count:.2g}" for b in low])


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("count", [2, 3, 7, 10, 30, 200, 30_000])
def test_bins_are_told_by_name_whatever_their_number(count):
    # Names are rounded, to "3.3e-05 to 6.7e-05" or to "0.99 to 0.99", so that the count cannot come from them.
    frame = binned(pd.DataFrame({"unit_index": np.arange(count)}), count)
    assert relative_bins(frame) == count
    np.testing.assert_array_equal(unit_numbers(frame), np.arange(count))
    # The last bin alone ends in the whole number 1, which is not its number.
    np.testing.assert_array_equal(unit_numbers(frame.tail(1)), [count - 1])
    assert relative_bins(frame.drop(index=0)) == count


@pytest.mark.parametrize("names", [["0", "1"], ["position 0", "position 1"], ["0 to 0.5", "1"], ["a to b", "b to c"]])
def test_other_names_are_no_bins(names):
    assert relative_bins(pd.DataFrame({"unit": names, "unit_index": [0, 1]})) is None
    assert relative_bins(pd.DataFrame({"unit_index": [0, 1]})) is None


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_bins_are_named_with_their_count_and_ticks_are_their_edges(profile, check_layout, width):
    figure = position_figure(binned(profile("position", units=10), 10), width=width)
    check_layout(figure)
    for axes in figure.axes[1::2]:
        assert words(axes.get_xlabel()) == "relative position in the text (10 bins)"
        assert axes.get_xlim() == (-0.5, 9.5)
        # Bin b covers b/10 to (b + 1)/10 and stands at b: relative position r is at 10 r - 1/2.
        ticks = axes.get_xticks()
        shown = [float(axes.xaxis.get_major_formatter()(tick, None)) for tick in ticks]
        np.testing.assert_allclose(ticks, 10 * np.array(shown) - 0.5)
        assert (shown[0], shown[-1]) == (0, 1)
        np.testing.assert_array_equal(axes.lines[0].get_xdata(), np.arange(10))


def test_positions_stay_positions(profile):
    figure = position_figure(profile("position", units=8))
    assert [axes.get_xlabel() for axes in figure.axes[1::2]] == ["position"] * 2


def test_every_cell_has_the_axis_of_its_units(profile):
    frame = profile("position", units=5)
    texts, digits = frame[frame["encoder"] == "mlp"], frame[frame["encoder"] == "bilstm"]
    figure = position_figure(pd.concat([binned(texts, 5).assign(data="texts"), digits.assign(data="digits")]))
    labels = [words(axes.get_xlabel()) for axes in figure.axes[1::2]]
    assert labels == ["relative position in the text (5 bins)", "position"]


def test_a_note_stands_below_the_label(profile):
    frame = binned(profile("position", units=5, outputs=("prediction",), seeds=1), 5)
    frame.loc[frame["unit_index"] == 4, ["nats", "standard_error"]] = np.nan
    frame.loc[frame["unit_index"] == 4, "reason"] = "too few"
    label = words(position_figure(frame).axes[1].get_xlabel())
    assert label == "relative position in the text (5 bins) 1 of 5 undefined (too few)"


def test_planted_figure_names_bins_too(planted):
    figure = planted_figure(binned(planted, 4))
    assert words(figure.axes[1].get_xlabel()) == "relative position in the text (4 bins)"
