import re
import subprocess
import sys

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from mi_attention.report import (
    AGREEMENT_COLUMNS,
    CONCENTRATION_COLUMNS,
    ONE_COLUMN,
    PLANTED_COLUMNS,
    PROFILE_COLUMNS,
    RANK_COLUMNS,
    TWO_COLUMNS,
    agreement_figure,
    concentration_figure,
    look,
    planted_figure,
    position_figure,
    rank_figure,
    save_figure,
    split_cells,
)
from mi_attention.report.curves import curve
from mi_attention.report.panels import cells_of, common_settings


@pytest.fixture
def inputs(profile, concentration, agreement, planted):
    """Every figure with its columns and a frame that suits it."""
    return {
        "position": (position_figure, PROFILE_COLUMNS, profile("position", units=8)),
        "rank": (rank_figure, RANK_COLUMNS, profile("rank")),
        "concentration": (concentration_figure, CONCENTRATION_COLUMNS, concentration()),
        "agreement": (agreement_figure, AGREEMENT_COLUMNS, agreement),
        "planted": (planted_figure, PLANTED_COLUMNS, planted),
    }


NAMES = ("position", "rank", "concentration", "agreement", "planted")


def texts(figure):
    """All words of a figure."""
    found = [text.get_text() for axes in figure.axes for text in axes.texts]
    for axes in figure.axes:
        found += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
    found += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " ".join(" ".join(found).split())


def profile_lines(axes):
    """The lines with one point a unit, without the zero line and the ceiling."""
    return [line for line in axes.lines if len(np.unique(line.get_xdata())) > 2]


@pytest.mark.parametrize("name", NAMES)
def test_missing_columns_are_named(inputs, name):
    build, columns, frame = inputs[name]
    for column in columns:
        with pytest.raises(ValueError, match=rf"the {name} figure needs columns \['{column}'\]"):
            build(frame.drop(columns=column))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_nothing_is_clipped_and_no_text_covers_another(inputs, check_layout, name, width):
    build, _, frame = inputs[name]
    figure = build(frame, width=width)
    assert figure.get_size_inches()[0] == width
    check_layout(figure)


@pytest.mark.parametrize("name", NAMES)
def test_figures_leave_the_frame_and_the_settings_alone(inputs, name, tmp_path):
    build, _, frame = inputs[name]
    before, settings = frame.copy(), dict(mpl.rcParams)
    save_figure(build(frame), tmp_path / "f", formats=("svg",))
    pd.testing.assert_frame_equal(frame, before)
    assert dict(mpl.rcParams) == settings


@pytest.mark.parametrize("name", NAMES)
def test_callers_settings_change_no_figure(inputs, name, tmp_path):
    build, _, frame = inputs[name]
    plain = save_figure(build(frame), tmp_path / "a", formats=("svg",))[0].read_bytes()
    with mpl.rc_context({"font.size": 20, "axes.grid": True, "lines.marker": "x", "svg.hashsalt": "other"}):
        assert save_figure(build(frame), tmp_path / "b", formats=("svg",))[0].read_bytes() == plain


def test_units_stand_on_the_axes(inputs):
    figures = {name: texts(build(frame)) for name, (build, _, frame) in inputs.items()}
    assert "MI (nats)" in figures["position"]
    assert "attention (weight)" in figures["position"]
    assert "MI (nats)" in figures["rank"]
    assert "attention rank (1 = most attended)" in figures["rank"]
    assert "temperature (log scale)" in figures["concentration"]
    assert "Gini (0 = uniform)" in figures["concentration"]
    assert "tau-b (−1 to 1)" in figures["agreement"]
    assert "true MI (nats)" in figures["planted"]
    assert "estimated MI (nats)" in figures["planted"]


def test_one_panel_a_cell_and_one_line_an_output(profile):
    for outputs in (("prediction",), ("prediction", "label"), ("prediction", "label", "uniform prediction", "class 3")):
        figure = rank_figure(profile(outputs=outputs))
        assert [axes.get_title() for axes in figure.axes] == ["MLP + additive", "BiLSTM + additive"]
        assert [len(profile_lines(axes)) for axes in figure.axes] == [len(outputs)] * 2
        assert len(figure.legends[0].get_texts()) == len(outputs) + 1
    assert figure.get_suptitle() == "sst2, softmax, temperature\u00a01"


def test_lines_are_means_over_seeds_and_bands_their_standard_error():
    # Seeds give 1 and 3 nats at unit 0: mean 2, standard error sd/sqrt(2) = sqrt(2)/sqrt(2) = 1.
    # At unit 1 one seed is undefined: the other's value with its own standard error. At unit 2 both are.
    rows = pd.DataFrame(
        {
            "seed": [0, 0, 0, 1, 1, 1],
            "unit_index": [0, 1, 2, 0, 1, 2],
            "nats": [1.0, 5.0, np.nan, 3.0, np.nan, np.nan],
            "standard_error": [9.0, 0.25, np.nan, 9.0, np.nan, np.nan],
            "reason": ["", "", "too few", "", "constant output", "too few"],
        }
    )
    line = curve(rows, "nats", "standard_error")
    np.testing.assert_array_equal(line.x, [0, 1, 2])
    np.testing.assert_allclose(line.mean, [2, 5, np.nan])
    np.testing.assert_allclose(line.error, [1, 0.25, np.nan])
    assert (line.undefined, line.total, line.reasons, line.n_seeds) == (3, 6, ("too few", "constant output"), 2)


def test_drawn_values_are_the_frames(profile):
    frame = profile(seeds=3)
    figure = rank_figure(frame)
    rows = frame[(frame["encoder"] == "bilstm") & (frame["output"] == "prediction")]
    line = profile_lines(figure.axes[1])[0]
    np.testing.assert_allclose(line.get_ydata(), rows.groupby("unit_index")["nats"].mean())
    # Ranks count from 1 as their names do, though unit_index counts from 0.
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4, 5])


def test_units_without_a_number_in_their_name_go_by_index(profile):
    frame = profile("position", units=4)
    frame["unit"] = "bin " + (frame["unit_index"] / 4).astype(str)
    figure = position_figure(frame)
    np.testing.assert_array_equal(profile_lines(figure.axes[0])[0].get_xdata(), [0, 1, 2, 3])


def test_position_panels_share_x_and_show_attention(profile):
    frame = profile("position", units=8)
    figure = position_figure(frame)
    above, below = figure.axes[:2]
    assert above.get_shared_x_axes().joined(above, below)
    np.testing.assert_allclose(below.lines[0].get_ydata(), 1 / 8)
    assert below.get_ylim()[0] == 0


def test_two_analyses_are_not_averaged(profile):
    frame = profile()
    with pytest.raises(ValueError, match="select the rows of one analysis"):
        rank_figure(pd.concat([frame, frame]))


def test_wrong_alignment_names_what_there_is(profile):
    with pytest.raises(ValueError, match=r"alignment 'position', got \['rank'\]"):
        position_figure(profile("rank"))


def test_ceiling_far_above_is_a_note(profile):
    frame = profile()
    assert "ceiling, H(prediction)" in texts(rank_figure(frame))
    frame["ceiling"] = 6.9
    said = texts(rank_figure(frame))
    assert "H(prediction) = 6.90 nats, above the axis" in said
    assert "ceiling, H(prediction)" not in said


@pytest.mark.parametrize(("build", "alignment"), [(rank_figure, "rank"), (position_figure, "position")])
def test_one_seed_and_undefined_cells(profile, build, alignment, tmp_path):
    frame = profile(alignment, seeds=1)
    empty = frame["encoder"] == "mlp"
    frame.loc[empty, ["nats", "standard_error", "ceiling", "attention"]] = np.nan
    frame.loc[empty, "reason"] = "fewer than 100 instances"
    last = (frame["encoder"] == "bilstm") & (frame["unit_index"] == 4) & (frame["output"] == "label")
    frame.loc[last, "nats"] = np.nan
    frame.loc[last, "reason"] = "constant label"
    figure = build(frame)
    said = texts(figure)
    assert "undefined (fewer than 100 instances)" in said
    assert "20 of 20 undefined" in said
    assert "1 of 20 undefined (constant label)" in said
    save_figure(figure, tmp_path / "f", formats=("svg",))


def test_everything_undefined_is_still_a_figure(inputs, tmp_path):
    for name, (build, _, frame) in inputs.items():
        numbers = [c for c in ("nats", "standard_error", "estimate", "ci_low", "ci_high", "ceiling") if c in frame]
        empty = frame.copy()
        empty[numbers] = np.nan
        empty["reason"] = "constant attention"
        figure = build(empty)
        assert "undefined (constant attention)" in texts(figure), name
        save_figure(figure, tmp_path / name, formats=("svg",))


def test_concentration_by_temperature_or_by_normaliser(concentration):
    swept = concentration_figure(concentration())
    assert {axes.get_xscale() for axes in swept.axes} == {"log"}
    assert len(swept.axes) == 6
    single = concentration_figure(concentration(temperatures=(1.0,)))
    assert [label.get_text() for label in single.axes[2].get_xticklabels()] == ["softmax", "sparsemax"]
    assert not single.legends
    only = concentration_figure(concentration(), measures=("gini",))
    assert len(only.axes) == 2
    with pytest.raises(ValueError, match="needs one of the measures"):
        concentration_figure(concentration(), measures=("skew",))


def test_concentration_says_what_is_undefined(concentration):
    frame = concentration()
    frame.loc[frame["normalizer"] == "sparsemax", "undefined_share"] = 0.004
    row = frame.index[(frame["measure"] == "gini")][0]
    frame.loc[row, ["estimate", "ci_low", "ci_high"]] = np.nan
    said = texts(concentration_figure(frame))
    assert "1 of 6 undefined" in said
    assert "less than 1 % of instances undefined at most" in said


def test_a_normaliser_without_temperature_is_a_level_line(concentration):
    frame = concentration()
    uniform = frame[frame["temperature"] == 1.0].assign(normalizer="uniform", temperature=np.nan, estimate=0.123)
    figure = concentration_figure(pd.concat([frame, uniform[uniform["encoder"] == "mlp"].drop_duplicates("measure")]))
    assert any(np.allclose(line.get_ydata(), 0.123) for line in figure.axes[0].lines if len(line.get_ydata()))


def test_bad_concentration_frames(concentration):
    frame = concentration()
    with pytest.raises(ValueError, match="two rows for one measure"):
        concentration_figure(pd.concat([frame, frame]))
    with pytest.raises(ValueError, match="temperature must be positive, got 0"):
        concentration_figure(frame.assign(temperature=0.0).drop_duplicates(["encoder", "normalizer", "measure"]))


def test_agreement_marks(agreement):
    figure = agreement_figure(agreement)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["MLP + additive", "BiLSTM + additive"]
    marks = [line for line in axes.lines if line.get_marker() not in ("", "None", None)]
    assert len(marks) == len(agreement)
    filled = [line for line in marks if line.get_markerfacecolor() != "white"]
    np.testing.assert_allclose([line.get_xdata()[0] for line in filled], [0.31, 0.07])
    assert len({float(line.get_ydata()[0]) for line in marks}) == len(marks)
    assert len({(line.get_marker()) for line in marks}) == 4
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["informativeness", "informativeness (gold label)", "head evidence", "random"]


def test_agreement_errors(agreement):
    with pytest.raises(ValueError, match="measure 'gamma', got"):
        agreement_figure(agreement, measure="gamma")
    with pytest.raises(ValueError, match="estimand 'position', got"):
        agreement_figure(agreement, estimands=("position",))
    with pytest.raises(ValueError, match="two rows"):
        agreement_figure(pd.concat([agreement, agreement]))


def test_planted_truth_is_drawn_and_checked(planted):
    figure = planted_figure(planted)
    assert [axes.get_title() for axes in figure.axes] == ["all positions", "one keyword", "Gaussian"]
    truth = profile_lines(figure.axes[1])[0]
    np.testing.assert_array_equal(truth.get_ydata(), [0.0, 0.3, 0.0, 0.1])
    with pytest.raises(ValueError, match="truth differs"):
        planted_figure(planted.assign(truth=np.arange(len(planted)) * 0.1))
    with pytest.raises(ValueError, match="at least 0"):
        planted_figure(planted.assign(truth=-0.1))
    with pytest.raises(ValueError, match="at least one row"):
        planted_figure(planted.head(0))


def test_same_input_same_bytes_without_dates(profile, tmp_path):
    frame = profile()
    first = save_figure(rank_figure(frame), tmp_path / "a", signature="probe|seed:0", title="MI by rank")
    second = save_figure(rank_figure(frame), tmp_path / "b", signature="probe|seed:0", title="MI by rank")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.suffix
    pdf, svg, png = (path.read_bytes() for path in first)
    assert b"CreationDate" not in pdf
    assert b"/Type3" not in pdf
    assert b"<dc:date>" not in svg
    assert b"MI (nats)" in svg
    assert all(b"probe|seed:0" in content for content in (pdf, svg, png))
    assert matplotlib.image.imread(first[2]).shape[1] == round(300 * TWO_COLUMNS)


@pytest.mark.slow
def test_same_bytes_in_another_process(tmp_path):
    code = (
        "import sys, pandas as pd\nfrom mi_attention.report import *\n"
        "f = pd.DataFrame({'data': 'x', 'unit_index': [0, 1], 'nats': [.1, .2], 'standard_error': .01, 'truth': .1})\n"
        "save_figure(planted_figure(f), sys.argv[1])\n"
    )
    for name, seed in (("a", "1"), ("b", "2")):
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code, str(tmp_path / name)], check=True, env={"PYTHONHASHSEED": seed}
        )
    for ending in ("pdf", "svg", "png"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_a_failed_save_leaves_nothing(profile, tmp_path, monkeypatch):
    figure = rank_figure(profile())
    with pytest.raises(ValueError, match="formats must be some of"):
        save_figure(figure, tmp_path / "f", formats=("gif",))
    real = type(figure).savefig

    def fail_on_png(self, target, **options):
        if options["format"] == "png":
            target.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        real(self, target, **options)

    monkeypatch.setattr(type(figure), "savefig", fail_on_png)
    with pytest.raises(OSError, match="No space"):
        save_figure(figure, tmp_path / "f", formats=("svg", "png"))
    assert list(tmp_path.iterdir()) == []


def test_looks_differ_in_every_way_and_in_grey():
    looks = [look(i) for i in range(7)]
    for attribute in ("color", "marker", "linestyle"):
        assert len({getattr(one, attribute) for one in looks}) == 7
    assert len({(o.color, o.marker, o.linestyle) for o in map(look, range(49))}) == 49
    with pytest.raises(ValueError, match="49 series"):
        look(49)


def test_names_of_data_are_literal(profile, tmp_path):
    frame = profile().assign(data="cost $x$ & <b> \\frac{ _")
    figure = rank_figure(frame)
    (path,) = save_figure(figure, tmp_path / "f", formats=("svg",))
    assert re.search(r"cost \$x\$ &amp; &lt;b&gt; \\frac\{", path.read_text(encoding="utf-8"))


def test_many_cells_are_split_without_losing_a_row(profile):
    frame = pd.concat([profile().assign(temperature=t) for t in (0.1, 0.5, 1.0, 2.0, np.nan)], ignore_index=True)
    parts = split_cells(frame, most=4)
    assert [len(cells_of(part)) for part in parts] == [4, 4, 2]
    assert len(pd.concat(parts)) == len(frame)
    titles = [cell.title for cell in cells_of(frame)]
    assert len(set(titles)) == 10
    assert common_settings(frame) == "sst2, softmax"
    with pytest.raises(ValueError, match="at least 1"):
        split_cells(frame, most=0)
