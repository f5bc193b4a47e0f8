"""Datasets are loaded by name or path, selected, framed and written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpucast.cli.data_shown import print_machines
from gpucast.data import dataset
from gpucast.data.loading import load
from gpucast.errors import InputError
from records_samples import EXAMPLES, LAUNCH, MACHINE, OVERLAP, STEP, TRANSFER


def write(path: Path, *values: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def error_of(*names: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        load(*names)
    return str(caught.value)


def test_records_are_sorted_by_kind(tmp_path: Path) -> None:
    data = load(write(tmp_path / "d.jsonl", *EXAMPLES))
    assert list(data.machines) == ["m"]
    kinds = (data.transfers, data.launches, data.steps, data.host_memory, data.notes)
    assert [len(records) for records in kinds] == [1, 1, 1, 1, 1]
    assert data.paths() == ["native"]
    assert data.warnings == []


def test_machines_may_stand_in_another_file_or_further_down(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", STEP)
    second = write(tmp_path / "b.jsonl", TRANSFER, MACHINE)
    data = load(first, second)
    assert (len(data.steps), len(data.transfers)) == (1, 1)


def test_a_record_of_an_unknown_machine_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "d.jsonl", MACHINE, {**STEP, "machine": "other"})
    assert error_of(file).startswith(f"{file}:2: machine: 'other' is described by no machine")


def test_files_can_be_concatenated(tmp_path: Path) -> None:
    later = {**MACHINE, "started": "2025-02-01T00:00:00Z"}
    data = load(write(tmp_path / "d.jsonl", MACHINE, STEP, later, TRANSFER))
    assert (len(data.machines), data.warnings) == (1, [])


def test_one_id_for_two_machines_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "d.jsonl", MACHINE, {**MACHINE, "gpus": [{"name": "Other"}]})
    assert error_of(file).startswith(f"{file}:2: gpus: 'm' had other GPUs in an")


def test_what_only_one_program_tells_of_a_machine_is_no_difference(tmp_path: Path) -> None:
    gpu = {"name": "GPU", "cores": 128, "links": [{"kind": "pcie"}]}
    more = {**MACHINE, "gpus": [gpu], "topology": {"nvml": "present"}}
    less = {key: value for key, value in more.items() if key != "topology"}
    less["gpus"] = [{key: value for key, value in gpu.items() if key != "links"}]
    data = load(write(tmp_path / "d.jsonl", more, less, STEP))
    assert data.warnings == []
    assert data.machines["m"].topology is not None


def test_a_machine_whose_driver_changed_gets_a_warning(tmp_path: Path) -> None:
    file = write(tmp_path / "d.jsonl", {**MACHINE, "driver": "1"}, {**MACHINE, "driver": "2"}, STEP)
    assert load(file).warnings == [
        f"{file}:2: machine 'm' now differs in driver; the first is kept"
    ]


def test_a_path_that_was_measured_over_another_transport_gets_a_warning(tmp_path: Path) -> None:
    steps = write(tmp_path / "steps.jsonl", {**MACHINE, "transport": "plain"}, STEP)
    transfers = write(tmp_path / "transfers.jsonl", {**MACHINE, "transport": "tls"}, TRANSFER)
    assert load(steps, transfers).warnings == [
        f"{transfers}:1: machine 'm' now differs in transport (tls, first plain); the first is kept"
    ]


def test_an_older_record_says_nothing_of_its_transport(tmp_path: Path) -> None:
    older = write(tmp_path / "older.jsonl", MACHINE, STEP)
    newer = write(tmp_path / "newer.jsonl", {**MACHINE, "transport": "shm"}, TRANSFER)
    data = load(older, newer)
    assert (data.machines["m"].transport, data.warnings) == ("shm", [])
    assert load(older).machines["m"].transport is None


def test_a_record_of_a_transport_that_is_gone_still_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load(write(tmp_path / "old.jsonl", {**MACHINE, "transport": "ucx-tls"}, TRANSFER))
    assert data.machines["m"].transport == "ucx-tls"
    print_machines(data)
    assert "m (ucx-tls)" in capsys.readouterr().out


def test_caveats_of_all_runs_are_kept(tmp_path: Path) -> None:
    file = write(tmp_path / "d.jsonl", {**MACHINE, "caveats": ["a"]}, {**MACHINE, "caveats": ["b"]})
    assert load(file).machines["m"].caveats == ["a", "b"]


def test_the_same_samples_from_two_files_get_a_warning(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", MACHINE, STEP)
    second = write(tmp_path / "b.jsonl", MACHINE, STEP)
    (warning,) = load(first, second).warnings
    assert warning.startswith("1 records repeat an earlier one")


def test_cells_that_differ_in_any_field_are_no_repetitions(tmp_path: Path) -> None:
    samples = {"seconds": [1e-5, 2e-5, 3e-5]}
    alone = {**TRANSFER, "concurrent": [], "method": "call", **samples}
    beside = {**alone, "concurrent": [{"from": "gpu1", "to": "host"}]}
    another = {**alone, "concurrent": [{"from": "gpu2", "to": "host"}]}
    launch = {**LAUNCH, "arguments": 0, **samples}
    overlap = {**OVERLAP, **samples}
    file = write(
        tmp_path / "a.jsonl", MACHINE, alone, {**alone, "method": "gated"}, beside, another,
        launch, {**launch, "arguments": 4}, overlap, {**overlap, "parts": ["h2d"]},
    )  # fmt: skip
    assert load(file).warnings == []
    again = write(tmp_path / "b.jsonl", overlap, another)
    (warning,) = load(file, again).warnings
    assert warning.startswith("2 records repeat")


def test_the_same_file_twice_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "d.jsonl", MACHINE)
    assert "is given twice" in error_of(file, str(file))


def test_a_name_that_is_nothing_lists_near_ones() -> None:
    assert error_of("p2p-cpy") == "p2p-cpy: no such file or bundled dataset; near: p2p-copy"
    assert "bundled: bandwidthtest-gtx480, " in error_of("zzz")


def test_nothing_to_load_is_an_error() -> None:
    assert error_of() == "name at least one dataset or file"


def test_unreadable_paths_are_errors(tmp_path: Path) -> None:
    assert error_of(tmp_path) == f"{tmp_path}: holds no files"
    if os.getuid() != 0:
        (tmp_path / "secret").write_text("")
        (tmp_path / "secret").chmod(0)
        assert "Permission denied" in error_of(tmp_path / "secret")


def test_selection_keeps_what_matches_and_its_machines(tmp_path: Path) -> None:
    other = {**MACHINE, "id": "m2"}
    remote = {**STEP, "path": "remote", "machine": "m2"}
    file = write(tmp_path / "d.jsonl", MACHINE, other, STEP, TRANSFER, remote)
    data = load(file)
    assert [step.path for step in data.select(path="remote").steps] == ["remote"]
    assert list(data.select(path="remote").machines) == ["m2"]
    # Transfers have no kernel: they pass.
    assert len(data.select(machine="m", kernel="claret").transfers) == 1


def test_selection_by_kind_of_step_keeps_steps_that_do_not_state_it(tmp_path: Path) -> None:
    graph = {**STEP, "graph": True, "boundary": "periodic"}
    plain = {**STEP, "graph": False, "block": 128}
    data = load(write(tmp_path / "d.jsonl", MACHINE, STEP, graph, plain, TRANSFER))
    assert [step.graph for step in data.select(graph=False).steps] == [None, False]
    assert [step.block for step in data.select(block=128).steps] == [None, None, 128]
    assert [step.boundary for step in data.select(boundary="open").steps] == [None, None]
    assert len(data.select(memory="pinned").transfers) == 1


def test_steps_of_several_kinds_are_no_repetitions_of_each_other(tmp_path: Path) -> None:
    kinds = [{**STEP, "seconds": [1, 2, 3], "memory": kind} for kind in ("pinned", "pageable")]
    assert load(write(tmp_path / "d.jsonl", MACHINE, *kinds)).warnings == []


def test_a_frame_has_a_row_a_sample(tmp_path: Path) -> None:
    data = load(write(tmp_path / "d.jsonl", *EXAMPLES))
    steps = data.frame("step")
    assert list(steps["seconds"]) == [0.01, 0.011]
    assert list(steps["sample"]) == [0, 1]
    assert list(steps["kernel_phase"]) == [0.008, 0.009]
    assert list(steps["kernel"]) == ["claret", "claret"]
    transfers = data.frame("transfer")
    assert list(transfers["from"]) == ["host", "host"]
    assert list(transfers["concurrent"]) == [1, 1]
    assert {kind: len(data.frame(kind)) for kind in dataset.COLUMNS} == {
        "step": 2,
        "transfer": 2,
        "launch": 1,
        "overlap": 1,
        "skeleton": 1,
        "host_memory": 1,
    }


def test_a_frame_of_steps_has_their_kind_bytes_and_exchange(tmp_path: Path) -> None:
    moved = {"h2d": 64, "d2h": 0}
    kind = {"ranks": 8, "memory": "pinned", "graph": True, "boundary": "periodic"}
    step = {**STEP, **kind, "bytes": moved}
    step["phases"] = {"exchange": [1e-5, 2e-5]}
    frame = load(write(tmp_path / "d.jsonl", MACHINE, step)).frame("step")
    assert list(frame["exchange"]) == [1e-5, 2e-5]
    first = frame.iloc[0]
    assert first[list(kind)].to_dict() == kind
    assert (first["bytes_h2d"], first["bytes_d2h"], first["bytes_exchange"]) == (64, 0, None)


def test_a_frame_without_records_has_the_columns_all_the_same(tmp_path: Path) -> None:
    frame = load(write(tmp_path / "d.jsonl", MACHINE)).frame("step")
    assert len(frame) == 0
    assert "seconds" in frame.columns


def test_the_digest_follows_the_content_not_the_file(tmp_path: Path) -> None:
    data = load(write(tmp_path / "a.jsonl", *EXAMPLES))
    data.dump(tmp_path / "b.jsonl")
    assert load(tmp_path / "b.jsonl").digest == data.digest
    assert data.select(path="native", machine="m").digest == data.digest
    slower = {**STEP, "seconds": [1.0]}
    assert load(write(tmp_path / "c.jsonl", MACHINE, slower)).digest != data.digest


def test_dump_does_not_replace_unasked(tmp_path: Path) -> None:
    data = load(write(tmp_path / "a.jsonl", *EXAMPLES))
    with pytest.raises(InputError, match="exists already"):
        data.dump(tmp_path / "a.jsonl")
    data.dump(tmp_path / "a.jsonl", force=True)


def test_steps_can_be_left_out_and_all_else_stays(tmp_path: Path) -> None:
    larger = {**STEP, "n": 2 * STEP["n"]}
    data = load(write(tmp_path / "d.jsonl", MACHINE, STEP, larger, TRANSFER, LAUNCH))
    kept = data.where(lambda step: step.n > STEP["n"])
    assert [step.n for step in kept.steps] == [larger["n"]]
    assert (kept.transfers, kept.launches) == (data.transfers, data.launches)
    assert len(data.steps) == 2
