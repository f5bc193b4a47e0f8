"""The plots of the source documents' tables show the tables, and own figures where they belong."""

from __future__ import annotations

import re
import statistics

import numpy as np
import pytest
from matplotlib.axes import Axes

import gpucast as gc
from document_samples import whole
from gpucast.show.paper import document_figures
from gpucast.show.paper.documents import beside_documents
from made_data import dataset, machine


@pytest.fixture(scope="module")
def own() -> gc.Dataset:
    return dataset([machine(), *whole()])


def curve(axes: Axes, label: str) -> list[tuple[float, float]]:
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


def published(axes: Axes) -> list[float]:
    lines = [line for line in axes.lines if line.get_gid() == document_figures.PUBLISHED]
    return [float(y) for line in lines for y in np.asarray(line.get_ydata())]


def own_marks(axes: Axes) -> list[float]:
    """Heights of the machine's own marks, from left to right."""
    marks = [line for line in axes.lines if line.get_color() == document_figures.OWN_COLOUR]
    return [float(line.get_ydata()[0]) for line in marks if len(line.get_xdata()) == 1]


def test_copies_between_gpus_are_those_of_the_table() -> None:
    data = gc.load("p2p-copy")
    upper, *_ = figure = document_figures.copies_between_gpus(None).axes
    for axes, name in zip(figure[:2], data.machines, strict=True):
        for route in ("peer", "staged"):
            expected = [
                (t.bytes, t.bytes / t.seconds[0])
                for t in data.transfers
                if (t.machine, t.route) == (name, route) and not t.cold
            ]
            assert np.allclose(sorted(curve(axes, route)), sorted(expected))
    # The document's finding: on the C2050 peer copies are faster at every size.
    ratios = np.asarray(figure[2].lines[0].get_ydata(), dtype=float)
    assert ratios.min() >= 1
    assert upper.get_title() == "Tesla C2050"


def test_copies_over_networks_are_those_of_the_table(own: gc.Dataset) -> None:
    up, down = document_figures.copies_over_networks(own).axes
    data = gc.load("dscuda")
    for axes, route in ((up, "h2d"), (down, "d2h")):
        expected = [
            (t.bytes, t.bytes / t.seconds[0])
            for t in data.transfers
            if (t.path, t.route) == ("infiniband", route)
        ]
        assert np.allclose(sorted(curve(axes, "InfiniBand")), sorted(expected))
    labels = up.get_legend_handles_labels()[1]
    assert any(label.startswith("GPU: h2d") for label in labels)
    assert len(document_figures.copies_over_networks(None).axes[0].lines) == 2


def test_colours_are_published_rates_and_marks_the_machines_own(own: gc.Dataset) -> None:
    figure = document_figures.copies_of_one_size(own)
    copies = gc.load("copy-timed-2012").transfers
    expected = [t.bytes / t.seconds[0] for t in copies if t.machine == "quadro-4000-tcc"]
    assert sorted(published(figure.axes[1])) == pytest.approx(sorted(expected))
    known = [
        pair.bytes / pair.own
        for pair in beside_documents(own, ["copy-timed-2012"])
        if pair.machine == "quadro-4000-tcc"
    ]
    assert known
    assert sorted(own_marks(figure.axes[1])) == pytest.approx(sorted(known))


def test_copies_that_share_links_get_half() -> None:
    (axes,) = document_figures.copies_at_once(None).axes
    rates = published(axes)
    data = gc.load("pcie-contention-cirrascale").transfers
    assert rates == pytest.approx([t.bytes / t.seconds[0] for t in data])
    alone, shared, apart = rates[0], rates[2], rates[6]
    assert shared / alone == pytest.approx(0.5, abs=0.02)
    assert apart == pytest.approx(alone, rel=0.02)
    assert axes.get_yscale() == "linear"


def test_host_memory_is_that_of_the_table(own: gc.Dataset) -> None:
    gpu, cpu = document_figures.host_memory(own).axes
    data = gc.load("host-memory-gtx480").host_memory
    for axes, kind in ((gpu, ("gpu", "copy_and_kernel")), (cpu, ("cpu", "loop"))):
        expected = [statistics.median(r.seconds) for r in data if (r.runner, r.phase) == kind]
        assert sorted(published(axes)) == pytest.approx(sorted(expected))
    known = [
        pair.own
        for pair in beside_documents(own, ["host-memory-gtx480"])
        if pair.what.endswith("cpu loop")
    ]
    assert sorted(own_marks(cpu)) == pytest.approx(sorted(known))


def test_every_plot_says_whose_numbers_it_shows(own: gc.Dataset) -> None:
    for name, draw in document_figures.figures_of_documents(own).items():
        figure = draw()
        assert figure.get_suptitle(), name
        caption = figure.get_supxlabel().replace("\n", " ")
        assert caption.startswith("Published numbers: ")
        assert "Black: own measurements, GPU." in caption
    for draw in document_figures.figures_of_documents(None).values():
        assert not re.search(r"\bown\b", draw().get_supxlabel())
