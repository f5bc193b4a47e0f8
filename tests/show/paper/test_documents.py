"""A machine's own figures beside the documents' tables, and plots of both."""

import re
import statistics
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

import gpucast as gc
from command_line import Run, answer_of, assert_refused
from document_samples import SIZES, seconds, series, whole
from gpucast.errors import InputError
from gpucast.paths.overlap import overlap_efficiencies
from gpucast.show.paper import document_figures
from gpucast.show.paper.documents import (
    HOST_MEMORY_TABLES,
    TRANSFER_TABLES,
    Beside,
    beside_documents,
)
from made_data import dataset, machine


@pytest.fixture(scope="module")
def found() -> list[Beside]:
    return beside_documents(dataset([machine(), *whole()]))


def of(found: list[Beside], document: str) -> list[Beside]:
    return [pair for pair in found if pair.document == document]


def test_every_table_gets_its_figures(found: list[Beside]) -> None:
    assert {pair.document for pair in found} == {*TRANSFER_TABLES, *HOST_MEMORY_TABLES}
    assert all(pair.ratio == pair.published / pair.own for pair in found)


def test_kinds_of_memory_are_compared_with_their_own_kind(found: list[Beside]) -> None:
    kopp = {pair.what: pair for pair in of(found, "copy-timed-2012")}
    assert kopp["h2d pinned"].way == "h2d pinned host>gpu0, call"
    assert kopp["h2d pageable"].way == "h2d pageable host>gpu0, call"
    assert all(pair.bytes == 2**28 for pair in kopp.values())
    remote = of(found, "dscuda")
    assert {pair.way.split(" host")[0].split(" gpu")[0] for pair in remote} == {
        "h2d pageable",
        "d2h pageable",
    }


def test_measured_sizes_are_taken_as_they_are_and_others_off_the_curve(
    found: list[Beside],
) -> None:
    for pair in found:
        if pair.basis in ("measured", "fitted"):
            assert pair.own == pytest.approx(seconds(pair.bytes), rel=1e-3)
            assert (pair.basis == "measured") == (pair.bytes in SIZES)
    assert {pair.basis for pair in of(found, "p2p-copy")} == {"measured", "fitted"}


def test_first_calls_are_left_out(found: list[Beside]) -> None:
    assert min(pair.bytes for pair in of(found, "p2p-copy")) == 2


def test_sets_of_one_shape_are_compared_by_bytes(found: list[Beside]) -> None:
    rows = of(found, "pcie-contention-cirrascale")
    assert all(pair.own == pytest.approx(4e-3) for pair in rows)
    assert all(pair.what.count(">") == 4 for pair in rows)  # the set of two was not measured


def test_words_and_bytes_of_host_memory_are_mapped(found: list[Beside]) -> None:
    rows = {pair.what: pair for pair in of(found, "host-memory-gtx480")}
    assert rows["pageable, sequential, cpu loop"].own == pytest.approx(0.02)
    assert rows["pageable, random, cpu loop"].published == 0.126466036
    assert rows["pageable, sequential, gpu copy and kernel"].own == pytest.approx(0.01)
    assert rows["mapped, sequential, gpu copy and kernel"].own == pytest.approx(0.012)
    assert not any(" all" in what for what in rows)


def test_overlap_is_the_share_of_what_could_be_hidden() -> None:
    pair, three = overlap_efficiencies(dataset([machine(), *whole()]))
    assert pair.efficiency == pytest.approx((2e-3 - 1.25e-3) / 1e-3)
    assert three.efficiency == pytest.approx(1)


def test_unknown_documents_and_several_machines_are_errors() -> None:
    data = dataset([machine(), *whole()])
    with pytest.raises(InputError, match="'p2p' is no such table; there are: p2p-copy"):
        beside_documents(data, ["p2p"])
    two = dataset([machine(), machine(name="k"), *series("h2d"), *series("h2d", machine="k")])
    with pytest.raises(InputError, match="--machine"):
        beside_documents(two)
    with pytest.raises(InputError, match="no transfers"):
        beside_documents(dataset([machine()]))


def test_the_command_prints_tables_or_json(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    dataset([machine(), *whole()]).dump(file)
    status, out, err = run("data", "compare", file, "--document", "copy-timed-2012")
    assert (status, err) == (0, "")
    assert "quadro-4000-tcc" in out
    assert "p2p-copy" not in out
    assert "2 us" in out  # a launch of sixteen that took 32 us
    answer = answer_of(run("data", "compare", file, "--json"))
    assert {row["document"] for row in answer["comparisons"]} == {
        *TRANSFER_TABLES,
        *HOST_MEMORY_TABLES,
    }
    assert answer["launches"][0]["seconds_each"] == pytest.approx(2e-6)
    assert [row["efficiency"] for row in answer["overlaps"]] == pytest.approx([0.75, 1])
    assert_refused(run("data", "compare", file, "--document", "nothing"), "nothing")


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
