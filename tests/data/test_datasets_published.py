"""The bundled datasets agree with the committed tables that a script made them from."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from gpucast.data import bundled_files
from gpucast.data.loading import load

ROOT = Path(__file__).parents[2]
NAMES = {
    "published": {
        "bandwidthtest-gtx480", "copy-timed-2012", "dscuda", "dscuda-original",
        "host-memory-gtx480", "p2p-copy", "pcie-contention-cirrascale",
    },
    "programs": {
        "gromacs-lumi", "hecbiosim", "lammps-lj-v100", "openmm-cellulose", "quick-dft",
        "stencil-cg",
    },
}  # fmt: skip
"""Datasets by their folder in ``data/``, for other people's tables."""


@pytest.mark.parametrize("kind", NAMES)
def test_the_committed_records_are_what_the_script_makes_and_are_bundled(kind: str) -> None:
    script = f"convert_{kind}.py"
    made = runpy.run_path(str(ROOT / "lab" / "data" / script))["datasets"]()
    assert made.keys() == NAMES[kind] <= bundled_files().keys()
    for name, text in made.items():
        committed = (ROOT / "data" / kind / f"{name}.jsonl").read_bytes()
        assert committed == text.encode(), f"run python lab/data/{script}"


@pytest.mark.parametrize("name", sorted(NAMES["published"] | NAMES["programs"]))
def test_each_has_a_title_a_source_and_caveats(name: str) -> None:
    data = load(name)
    assert data.title()
    assert data.warnings == []
    assert all(machine.source and machine.caveats for machine in data.machines.values())


def test_first_calls_of_the_peer_copies_are_cold() -> None:
    data = load("p2p-copy")
    assert len(data.transfers) == 2 * 2 * 31
    assert {copy.bytes for copy in data.transfers if copy.cold} == {1}
    assert sum(bool(copy.cold) for copy in data.transfers) == 4


def test_claret_steps_give_back_the_printed_gflops() -> None:
    data = load("dscuda").select(path="infiniband")
    gflops = {step.n: 78 * step.n**2 / step.seconds[0] / 1e9 for step in data.steps}
    assert {n: round(value, 9) for n, value in gflops.items()} == {
        216: 3, 512: 10, 1000: 24, 1728: 46, 2744: 75, 4096: 110, 5832: 150,
    }  # fmt: skip
    assert {step.n: step.uncertainty for step in data.steps}[216] == pytest.approx(0.5 / 3)
    # n = 8 and 64 round to 0 Gflops: noted, not dropped.
    assert {note.about["n"] for note in data.notes if note.about and "n" in note.about} == {8, 64}


def test_rates_become_seconds_with_their_rounding() -> None:
    slowest = next(copy for copy in load("dscuda").transfers if copy.path == "ethernet100")
    assert slowest.seconds[0] == pytest.approx(128 / 0.3e6)
    assert slowest.uncertainty == pytest.approx(0.05 / 0.3)
    up = load("copy-timed-2012").transfers[0]
    assert up.seconds[0] == pytest.approx(256 / 3730)


def test_copies_within_the_gpu_count_once() -> None:
    local = next(copy for copy in load("bandwidthtest-gtx480").transfers if copy.route == "local")
    # bandwidthTest counts the read and the write.
    assert local.bytes / local.seconds[0] == pytest.approx(111025.4 * 2**20 / 2)


def test_contending_pairs_are_listed() -> None:
    beside = [len(copy.concurrent) for copy in load("pcie-contention-cirrascale").transfers]
    assert beside == [1, 1, 3, 3, 3, 3, 3, 3, 3, 3]


def test_host_memory_is_in_seconds() -> None:
    first = load("host-memory-gtx480").host_memory[0]
    assert (first.memory, first.seconds) == ("pageable", [0.0348782082])
