"""A machine's own figures beside the documents' tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Run, assert_refused, only_json
from document_samples import SIZES, seconds, series, whole
from gpucast.errors import InputError
from gpucast.paths.overlap import overlap_efficiencies
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
    _, out, _ = run("data", "compare", file, "--json")
    answer = only_json(out)
    assert {row["document"] for row in answer["comparisons"]} == {
        *TRANSFER_TABLES,
        *HOST_MEMORY_TABLES,
    }
    assert answer["launches"][0]["seconds_each"] == pytest.approx(2e-6)
    assert [row["efficiency"] for row in answer["overlaps"]] == pytest.approx([0.75, 1])
    assert_refused(run("data", "compare", file, "--document", "nothing"), "nothing")
