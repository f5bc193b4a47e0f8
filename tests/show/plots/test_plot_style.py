"""Figures look as journals ask: colours that all can tell apart, embedded fonts, readable sizes."""

import itertools
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib
import numpy as np
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from numpy.typing import NDArray

from colours import lab, linear
from gpucast.errors import InputError
from gpucast.show.plots import style

# Machado, Oliveira & Fernandes (2009), severity 1, for linear RGB.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
JUST_SEEN = 2.3
"""The least CIE76 distance that people see of two colours side by side."""


def seen_as(colour: str, sight: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE L*a*b* of a colour as seen."""
    rgb = linear([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return lab(np.clip(sight @ rgb, 0, 1))


def least_distance(colours: tuple[str, ...], sight: NDArray[np.float64]) -> float:
    seen = [seen_as(colour, sight) for colour in colours]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))


def test_the_distance_is_cie_lab() -> None:
    # White, and sRGB red as published: L* 53.24, a* 80.09, b* 67.20.
    assert seen_as("#FFFFFF", np.eye(3)) == pytest.approx([100, 0, 0], abs=0.05)
    assert seen_as("#FF0000", np.eye(3)) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)


@pytest.mark.parametrize("sight", SIGHTS)
def test_lines_of_a_figure_are_told_apart_by_every_reader(sight: str) -> None:
    # Up to six lines, more than figures draw by themselves; then all eight.
    assert least_distance(style.COLOURS[:6], SIGHTS[sight]) > 6 * JUST_SEEN
    assert least_distance(style.COLOURS, SIGHTS[sight]) > 2 * JUST_SEEN


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_terms_of_a_step_are_told_apart_by_every_reader(sight: str) -> None:
    terms = tuple(colour for colour, _ in style.TERMS.values())
    assert least_distance(terms, SIGHTS[sight]) > 6 * JUST_SEEN


def test_marks_say_the_same_as_colours() -> None:
    seen = [(style.COLOURS[i % 8], style.marker(i)) for i in range(32)]
    assert len(set(seen)) == 32
    assert len({style.marker(i) for i in range(8)}) == 8
    assert len({hatch for _, hatch in style.TERMS.values()}) == 3


@style.styled
def drawn() -> style.Figure:
    figure, axes = style.one("Some title", "Whose numbers these are.")
    axes.plot([1, 10], [1e-6, 1e-3], label="line")
    style.log_axes(axes, "n", "time")
    style.si_axis(axes.yaxis, "s")
    axes.legend()
    return figure


def test_pdf_embeds_truetype_fonts() -> None:
    content = style.render(drawn(), "pdf")
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert b"/FontFile2" in content  # a TrueType program, embedded
    assert b"/Type3" not in content
    assert re.search(rb"/Subtype /(TrueType|CIDFontType2)", content)


def test_a_figure_is_laid_out_once_for_all_formats() -> None:
    figure = drawn()
    canvas, dpi = figure.canvas, figure.dpi
    with watched(ConstrainedLayoutEngine, "execute") as layouts:
        for kind in ("pdf", "svg", "png"):
            style.render(figure, kind)
    assert layouts.call_count == 1
    assert (figure.canvas, figure.dpi) == (canvas, dpi)


def watched(kind: type, method: str) -> Any:
    """Counts the calls of a method, which works as before."""
    return mock.patch.object(kind, method, autospec=True, side_effect=getattr(kind, method))


def test_svg_is_xml_and_png_whole() -> None:
    root = ET.fromstring(style.render(drawn(), "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}image"))  # vectors only
    png = style.render(drawn(), "png")
    width = struct.unpack(">I", png[16:20])[0]
    assert width == pytest.approx(300 * style.ONE_COLUMN, abs=1)
    assert png.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_the_same_figure_gives_the_same_file(kind: str) -> None:
    assert style.render(drawn(), kind) == style.render(drawn(), kind)


def test_an_unknown_format_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="docx"):
        style.save(drawn(), tmp_path / "figure.docx")
    assert list(tmp_path.iterdir()) == []


def test_nothing_global_is_changed() -> None:
    before = dict(matplotlib.rcParams)
    style.render(drawn(), "png")
    assert dict(matplotlib.rcParams) == before


def test_text_is_readable_and_overlaps_nothing() -> None:
    figure = drawn()
    style.render(figure, "png")
    figure.draw_without_rendering()  # at the figure's own resolution again
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= 6
    labels = [*figure.texts, figure.axes[0].xaxis.label, figure.axes[0].yaxis.label]
    boxes = [text.get_window_extent() for text in labels if text.get_text()]
    boxes += [figure.axes[0].bbox]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    for box in boxes:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1


def test_long_text_is_broken_to_the_width() -> None:
    lines = style.wrapped("word " * 60, style.ONE_COLUMN, 6).split("\n")
    assert len(lines) > 3
    assert max(map(len, lines)) * 6 * 0.57 / 72 <= style.ONE_COLUMN


@pytest.mark.parametrize(
    ("size", "said"), [(1, "1 B"), (512, "512 B"), (2**15, "32 KiB"), (2**30, "1 GiB")]
)
def test_bytes_are_said_in_binary_units(size: int, said: str) -> None:
    assert style.binary(size, 0) == said


@pytest.mark.parametrize(
    ("low", "high", "beside", "below"),
    [
        (1.5e-4, 2.2e-3, ["200 µs", "500 µs", "2 ms"], ["200 µs", "500 µs", "2 ms"]),
        (4e-5, 2.2e-3, ["50 µs", "200 µs", "500 µs", "2 ms"], []),
        (1.1e-3, 9e-3, ["2 ms", "5 ms"], ["2 ms", "5 ms"]),
        (1.2, 4.5, ["2 s", "3 s", "4 s"], ["2 s", "3 s", "4 s"]),
        (1.24, 1.36, *[["1.24 s", "1.26 s", "1.28 s", "1.3 s", "1.32 s", "1.34 s", "1.36 s"]] * 2),
        (1e-4, 1e-2, [], []),
        (3e-6, 0.2, [], []),
    ],
)
def test_short_logarithmic_axes_are_labelled_between_powers_of_ten(
    low: float, high: float, beside: list[str], below: list[str]
) -> None:
    _, axes = style.one("title")
    style.log_axes(axes, "x", "y")
    for axis, limit, expected in (
        (axes.yaxis, axes.set_ylim, beside),
        (axes.xaxis, axes.set_xlim, below),
    ):
        style.si_axis(axis, "s")
        limit(low, high)
        ticks = [tick for tick in axis.get_minorticklocs() if low <= tick <= high]
        texts = axis.get_minor_formatter().format_ticks(ticks)
        assert [text for text in texts if text] == expected


def test_linear_axes_have_no_labels_between() -> None:
    _, axes = style.one("title")
    style.si_axis(axes.yaxis, "s")
    assert axes.yaxis.get_minor_formatter()(2.0) == ""
