import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from mi_attention.report import ONE_COLUMN, TWO_COLUMNS, planted_figure, rank_figure, save_figure, svg_text
from mi_attention.report.curves import curve


@pytest.fixture
def cells(planted):
    """One planted data set with two encoders."""
    one = planted[planted["data"] == "Gaussian"].assign(score="scaled_dot", normalizer="softmax", temperature=1.0)
    return pd.concat([one.assign(encoder="mlp"), one.assign(encoder="bilstm", nats=one["nats"] + 0.2)])


def bar_lengths(axes):
    """Lengths of the vertical bars of a panel."""
    return [np.ptp(path.vertices[:, 1]) for lines in axes.collections for path in lines.get_paths()]


@pytest.mark.parametrize("width", [ONE_COLUMN, TWO_COLUMNS])
def test_cells_are_named_as_in_the_other_figures(cells, check_layout, width):
    figure = planted_figure(cells, width=width)
    check_layout(figure)
    titles = [axes.get_title().replace("\n", " ") for axes in figure.axes]
    assert titles == ["states of one position", "MLP + scaled dot", "BiLSTM + scaled dot"]
    assert figure.get_suptitle() == "Gaussian, softmax, temperature\u00a01"
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [
        "MLP + scaled dot",
        "BiLSTM + scaled dot",
        "truth",
        "planted in the input; these states may hold more",
    ]


def test_only_states_of_one_position_are_held_against_the_truth(cells):
    both = planted_figure(cells)
    scatter, alone, mixing = both.axes
    drawn = [line for line in scatter.lines if line.get_marker() not in ("None", "", None)]
    truth = sorted(cells["truth"].unique())
    assert len(drawn) == 1
    # MLP: truth + 0.005 on average over two seeds; BiLSTM 0.2 above that is nowhere.
    np.testing.assert_allclose(sorted(drawn[0].get_ydata()), np.array([0.0, *truth]) + 0.005)
    assert next(line.get_linestyle() for line in alone.lines if len(line.get_xdata()) == 4) == "-"
    assert next(line.get_linestyle() for line in mixing.lines if len(line.get_xdata()) == 4) == "--"
    # Only recurrent states: no panel of a truth, and none in the legend. An unknown encoder may mix.
    for encoder in ("bilstm", "my_encoder"):
        figure = planted_figure(cells[cells["encoder"] == "bilstm"].assign(encoder=encoder))
        assert len(figure.axes) == 1
        names = [text.get_text() for text in figure.legends[0].get_texts()]
        assert "truth" not in names
        assert names[-1].startswith("planted in the input")


def test_data_and_temperature_tell_cells_apart(cells):
    cells = cells[cells["encoder"] == "mlp"]
    cold = cells.assign(temperature=0.5)
    other = cells.assign(data="keywords", truth=cells["truth"] * 2)
    titles = [axes.get_title() for axes in planted_figure(pd.concat([cells, cold, other])).axes[1:]]
    assert titles == [
        "Gaussian\nMLP + scaled dot\ntemperature\u00a01",
        "Gaussian\nMLP + scaled dot\ntemperature\u00a00.5",
        "keywords\nMLP + scaled dot\ntemperature\u00a01",
    ]
    # One cell may not have two truths, two data sets may.
    with pytest.raises(ValueError, match="truth differs"):
        planted_figure(pd.concat([cells, cells.assign(seed=cells["seed"] + 2, truth=cells["truth"] * 2)]))


def test_bars_are_errors_of_estimates_not_the_spread_over_seeds(planted):
    # Seeds give 0.1 and 0.3 at every position, with standard errors 0.02 and 0.04: the dot is at 0.2, the mean
    # standard error is 0.03, and the bar of two of them each way is 0.12 long. The spread over seeds would
    # give sd/sqrt(2) = 0.1414/1.4142 = 0.1 and a bar of 0.4.
    first = planted["seed"] == 0
    frame = planted.assign(nats=np.where(first, 0.1, 0.3), standard_error=np.where(first, 0.02, 0.04))
    for axes in planted_figure(frame).axes[1:]:
        np.testing.assert_allclose(bar_lengths(axes), 0.12)
        dots = next(line for line in axes.lines if line.get_marker() == "o" or line.get_marker() == "s")
        np.testing.assert_allclose(dots.get_ydata(), 0.2)


def test_mean_standard_error_ignores_undefined_values_and_unknown_errors():
    # Unit 0: values of both seeds, one error unknown; unit 1: one value; unit 2: values without errors.
    rows = pd.DataFrame(
        {
            "seed": [0, 0, 0, 1, 1, 1],
            "unit_index": [0, 1, 2, 0, 1, 2],
            "nats": [1.0, 5.0, 2.0, 3.0, np.nan, 4.0],
            "standard_error": [0.5, 0.25, np.nan, np.nan, 7.0, np.nan],
        }
    )
    line = curve(rows, "nats", "standard_error", over_seeds=False)
    np.testing.assert_allclose(line.mean, [2, 5, 3])
    np.testing.assert_allclose(line.error, [0.5, 0.25, np.nan])


def count_layouts(monkeypatch):
    calls = []
    real = ConstrainedLayoutEngine.execute

    def execute(self, figure):
        calls.append(figure)
        return real(self, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", execute)
    return calls


def test_a_figure_is_laid_out_once_for_all_formats(profile, tmp_path, monkeypatch):
    figure = rank_figure(profile())
    engine = figure.get_layout_engine()
    calls = count_layouts(monkeypatch)
    save_figure(figure, tmp_path / "f")
    assert calls == [figure]
    assert figure.get_layout_engine() is engine


def test_the_text_of_an_svg_is_that_of_the_file(profile, tmp_path):
    (path,) = save_figure(rank_figure(profile()), tmp_path / "f", formats=("svg",), signature="a|b", title="t")
    assert svg_text(rank_figure(profile()), signature="a|b", title="t") == path.read_text(encoding="utf-8")


def test_the_layout_engine_returns_after_a_failed_save(profile, tmp_path, monkeypatch):
    figure = rank_figure(profile())
    engine = figure.get_layout_engine()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="No space"):
        save_figure(figure, tmp_path / "f", formats=("svg",))
    assert figure.get_layout_engine() is engine


def test_saved_figures_are_laid_out(profile, tmp_path):
    # Without a layout the legend, which stands outside of the panels, would cover the lowest of them.
    figure = rank_figure(profile())
    (path,) = save_figure(figure, tmp_path / "f", formats=("png",))
    image = matplotlib.image.imread(path)
    height = image.shape[0]
    legend = figure.legends[0].get_window_extent()
    lowest = min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert legend.y1 <= lowest + 1
    # A white line across the image divides the panels from the legend.
    bottom = round(height * (1 - lowest / figure.bbox.height))
    top = round(height * (1 - legend.y1 / figure.bbox.height))
    assert (image[bottom : top + 1, :, :3] == 1).all(axis=(1, 2)).any()


def test_a_figure_without_an_engine_keeps_none_and_its_place(tmp_path):
    figure = Figure()
    axes = figure.add_axes((0.1, 0.2, 0.3, 0.4))
    axes.plot([0, 1])
    save_figure(figure, tmp_path / "f", formats=("svg",))
    assert figure.get_layout_engine() is None
    np.testing.assert_allclose(axes.get_position().bounds, (0.1, 0.2, 0.3, 0.4))
