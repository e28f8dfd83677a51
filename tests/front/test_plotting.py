"""The picture shows results, levels, change points, and how likely they are."""

import pickle
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import barograph as bg
from barograph.detection.base import RawChangePoint, describe
from barograph.detection.slow import slow_changes
from barograph.report import drawing
from barograph.report.panel import Panel
from barograph.results.series import ChangePoint, Direction, Floats, SeriesId
from barograph.results.sizes import LevelLine, Size
from barograph.results.wording import change_text, number, probability_text
from barograph.runtime.errors import ConfigError, DataError

ROOT = Path(__file__).resolve().parent.parent.parent
MINUS = "\u2212"
STEP: Floats = np.repeat([100.0, 120.0], 100) + np.random.default_rng(5).normal(0, 2, 200)


def change(index: int, probability: float | None = 0.9, values: Floats = STEP) -> ChangePoint:
    """Return a change point as a detector reports it."""
    values = np.resize(values, max(values.size, index + 1))
    raw = RawChangePoint(index, 1.0, probability=probability)
    [point] = describe(values, [raw])
    return point


def series(values: Floats, direction: Direction = Direction.UNKNOWN) -> bg.Series:
    days = 1_700_000_000_000 + np.arange(values.size) * 86_400_000
    commits = [f"{k:07d}abcdef" for k in range(values.size)]
    return bg.Series(
        SeriesId("db", "", "", "insert", "ops"),
        np.arange(values.size),
        values,
        commits,
        days,
        direction,
    )


def texts(figure: Figure) -> list[str]:
    """Return everything that is written in the picture."""
    figure.canvas.draw()  # makes the labels of the ticks
    written: list[str] = [text.get_text() for text in figure.findobj(Text)]
    return [text for text in written if text]


def test_the_picture_says_that_a_change_is_new() -> None:
    new = replace(change(100, 0.93), is_new=True)
    assert "93 % real \u00b7 new \u00b7 at 100" in texts(bg.plot(STEP, [new]))


def test_the_picture_names_change_probability_place_and_levels() -> None:
    figure = bg.plot(STEP, [change(100, 0.93)], title="insert")
    written = texts(figure)
    before, after = np.median(STEP[70:100]), np.median(STEP[100:130])
    assert {"insert\n200 results · 1 change", "93 % real · at 100"} <= set(written)
    assert {change_text(Size(before, after).percent), number(before), number(after)} <= set(written)


def test_change_points_are_those_of_detect_by_default() -> None:
    [point] = bg.detect(STEP)
    assert point.probability is not None
    label = f"{probability_text(point.probability)} real · at {point.index}"
    assert label in texts(bg.plot(STEP))


def test_a_series_is_drawn_with_its_name_commits_days_and_direction() -> None:
    figure = bg.plot(series(STEP, Direction.LOWER_IS_BETTER), [change(100)])
    written = texts(figure)
    heading = "db/insert/ops\n200 results · 1 change · lower is better"
    assert {heading, "90 % real · 0000100a"} <= set(written)
    assert any(text.endswith(" 2023") for text in written)


@pytest.mark.parametrize("unit", ["ops/s", "$x$", "per_cent"])
def test_the_vertical_axis_has_the_unit_of_the_series(unit: str) -> None:
    measured = replace(series(STEP), unit=unit)
    plain, figure = bg.plot(series(STEP), [change(100)]), bg.plot(measured, [change(100)])
    assert [figure.axes[0].get_ylabel(), plain.axes[0].get_ylabel()] == [unit, ""]
    figure.canvas.draw()
    box = figure.axes[0].yaxis.label.get_window_extent()
    ticks = [label.get_window_extent().x0 for label in figure.axes[0].get_yticklabels()]
    assert 0 <= box.x0 < box.x1 < min(ticks)


@pytest.mark.parametrize(("direction", "colour"), [(1, "#0b6b5c"), (-1, "#b3340d"), (0, "#1d1c19")])
def test_colour_says_better_or_worse(direction: int, colour: str) -> None:
    [axes] = bg.plot(STEP, [change(100)], direction=direction).axes
    [label] = [text for text in axes.texts if text.get_text().startswith("+")]
    assert label.get_color() == colour


def test_unlikely_changes_are_rings() -> None:
    [axes] = bg.plot(STEP, [change(50, 0.2), change(100, None), change(150, 0.8)]).axes
    discs = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]  # type: ignore[arg-type]
    filled = [line.get_markerfacecolor() for line in discs]
    assert sorted(filled) == ["#1d1c19", "#1d1c19", "#ffffff"]


@pytest.mark.parametrize("size", [200, 5000])
def test_labels_never_overlap(size: int) -> None:
    places = np.linspace(size // 20, size - size // 20, 17).astype(int)
    values = np.random.default_rng(2).normal(100, 1, size)
    values += 20.0 * (np.searchsorted(places, np.arange(size), side="right") % 2)
    raw = [
        RawChangePoint(int(place), 1.0, probability=0.5 + 0.02 * k)
        for k, place in enumerate(places)
    ]
    points = describe(values, raw)
    figure = bg.plot(values, points)
    figure.canvas.draw()
    [axes] = figure.axes
    boxes = [
        text.get_window_extent()
        for text in axes.texts
        if text.get_text().endswith("%") or "real" in text.get_text()
    ]
    assert len(boxes) >= 2 * 4
    for k, box in enumerate(boxes):
        assert box.count_overlaps(boxes[k + 1 :]) == 0
    area = figure.bbox
    assert all(area.x0 <= box.x0 and box.x1 <= area.x1 and box.y1 <= area.y1 for box in boxes)


def test_far_results_are_counted_and_do_not_squash_the_rest() -> None:
    values = STEP.copy()
    values[[20, 150]] = 5000.0, -800.0
    figure = bg.plot(values, [change(100)])
    assert f"200 results · 1 change · 2 outside the scale: {MINUS}800 to 5,000" in texts(figure)
    low, high = figure.axes[0].get_ylim()
    assert 50 < low < 95
    assert 125 < high < 180


@pytest.mark.parametrize("name", ["Outer$Inner$bench", "$60_$", "a_b^c"])
def test_names_are_no_formulas(name: str) -> None:
    labelled = replace(series(STEP), commits=[name] * STEP.size)
    written = texts(bg.plot(labelled, [change(100)], title=name))
    assert {f"{name}\n200 results · 1 change", f"90 % real · {name[:8]}"} <= set(written)
    for text in bg.plot(labelled, [change(100)], title=name).findobj(Text):
        assert not text.get_text() or not text.get_parse_math() or text.get_text()[0].isdigit()


def test_a_new_level_is_never_outside_the_scale() -> None:
    values = np.append(STEP[:100], 900.0)
    assert Panel(values, [change(100, values=values)]).beyond.any() == np.False_


def test_constant_and_single_values_are_drawn() -> None:
    assert "3 results · no changes" in texts(bg.plot([5.0, 5.0, 5.0]))
    single = bg.plot([5.0])
    assert "1 result · no changes" in texts(single)
    ticks = [label.get_text() for label in single.axes[0].get_xticklabels()]
    assert [text for text in ticks if text] == ["0"]


def test_a_history_gets_a_panel_for_each_series() -> None:
    history = bg.read(ROOT / "docs/results.csv")
    assert len(bg.plot(history).axes) == 2
    with pytest.raises(DataError, match="a history of 2 series; at most 1 can be drawn here"):
        bg.plot(history, [change(3)])


def test_a_picture_can_be_saved_and_shown(tmp_path: Path) -> None:
    figure: Any = bg.plot(STEP, [change(100)], title="a very long name / " * 20)
    for ending in ("png", "svg", "pdf"):
        figure.savefig(tmp_path / f"picture.{ending}")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(figure))._repr_png_() == figure._repr_png_()  # noqa: S301
    assert any("…" in text for text in texts(figure))


def test_settings_of_the_user_stay_and_their_axes_are_used() -> None:
    before = dict(mpl.rcParams)
    figure, axes = plt.subplots()
    assert bg.plot(STEP, [change(100)], ax=axes) is figure
    assert dict(mpl.rcParams) == before
    plt.close(figure)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ConfigError, match="direction is 3: allowed are -1, 0 and 1"):
        bg.plot(STEP, direction=3)
    with pytest.raises(DataError, match=r"change point at 200: values has 200 results"):
        bg.plot(STEP, [change(200)])
    with pytest.raises(DataError, match=r"change points must be in order"):
        bg.plot(STEP, [change(100), change(100)])
    with pytest.raises(DataError, match=r"change_points\[0\] is 100; it must be a ChangePoint"):
        bg.plot(STEP, [100])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"a result of size 1\.7e\+308; the largest is 1e\+307"):
        bg.plot([1.7e308, -1.7e308], [])
    with pytest.raises(ConfigError, match="ax is ndarray: it must be one Axes of matplotlib"):
        bg.plot(STEP, ax=np.array([None]))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="values is a history without series"):
        bg.plot(replace(bg.read(ROOT / "docs/results.csv"), offsets=np.zeros(1, dtype=np.int64)))


def test_without_matplotlib_the_message_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("matplotlib", "barograph.plott"))
    ]:
        if name != "barograph.report" and name != "barograph.report.panel":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delattr("barograph.report.drawing", raising=False)
    with pytest.raises(
        ConfigError, match=r"plot needs the package matplotlib: pip install '\.\[plot\]'"
    ):
        bg.plot(STEP)


def test_levels_are_those_of_the_changes_and_medians_elsewhere() -> None:
    values = np.repeat([1.0, 2.0, 7.0, 5.0], [50, 30, 20, 12])
    panel = Panel(values, [change(80, values=values)])
    assert panel.levels == [
        LevelLine(0, 50, 1.0, is_used=False),
        LevelLine(50, 80, 2.0, is_used=True),
        LevelLine(80, 110, 7.0, is_used=True),
        LevelLine(110, 112, 7.0, is_used=False),
    ]
    assert replace(panel, change_points=[]).levels == [LevelLine(0, 112, 2.0, is_used=False)]


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", ["trace", "noise", "worse", "better", "changed", "edge"])
@pytest.mark.parametrize("theme", [0, 1])
def test_what_is_drawn_stands_out_from_its_background(name: str, theme: int) -> None:
    tokens = Path(drawing.__file__).parent / "static" / "tokens.css"
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", tokens.read_text())
    colours = {key: pair[theme] for key, *pair in pairs}
    for background in ("paper", "sheet"):
        low, high = sorted(luminance(colours[key]) for key in (name, background))
        assert (high + 0.05) / (low + 0.05) >= 3.0  # WCAG 1.4.11
    if not theme:
        assert colours["trace"] == drawing.TRACE


def slowly() -> Floats:
    """Return a rise of 20 % over 100 results, and noise that triples afterwards."""
    noise = np.random.default_rng(3).normal(0.0, 1.0, 420)
    noise[300:] *= 3.0
    return 100.0 + 20.0 * np.clip((np.arange(420) - 100) / 100, 0.0, 1.0) + noise


def test_drifts_and_changes_of_noise_are_bands() -> None:
    values = slowly()
    drift, noise = slow_changes(values)
    figure = bg.plot(values)
    [axes], written = figure.axes, texts(figure)
    spans = [(patch.get_x(), patch.get_width()) for patch in axes.patches]  # type: ignore[attr-defined]
    assert spans == [(one.begin - 0.5, one.end - one.begin) for one in (drift, noise)]
    [dashed] = [line for line in axes.lines if line.get_linestyle() == "--"]
    ends = [[drift.begin - 0.5, drift.before], [drift.end - 0.5, drift.after]]
    np.testing.assert_allclose(np.array(dashed.get_xydata()), np.array(ends))
    labels = {f"drift {change_text(drift.percent)}", f"noise change {change_text(noise.percent)}"}
    assert labels <= {text.replace(MINUS, "-") for text in written}
    assert any("1 drift · 1 noise change" in text for text in written)


def test_chosen_change_points_are_drawn_alone() -> None:
    [axes] = bg.plot(slowly(), []).axes
    assert not axes.patches
