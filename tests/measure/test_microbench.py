"""``gpucast-microbench`` on CPU threads, as a user runs it: records, tables, bad input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.paths.curves import fit_transfers
from waiting import HANG, until

PROGRAM = Path(
    os.environ.get("GPUCAST_MICROBENCH", Path(sys.executable).with_name("gpucast-microbench"))
)
HOST = ("--engine", "host", "--host-devices", "2")
QUICK = (
    *HOST, "--largest", "4096", "--loop-bytes", "4096", "--budget", "0", "--interval", "1e9",
    "--fresh", "0", "--quiet",
)  # fmt: skip
"""Few sizes, and the least number of samples, however wide the interval of their median."""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=HANG
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Records of the whole suite, and the report."""
    path = tmp_path_factory.mktemp("microbench") / "records.jsonl"
    finished = run("measure", *QUICK, "--machine", "mine", "-o", path)
    assert finished.returncode == 0, finished.stderr
    return path, finished.stdout


def records(path: Path, kind: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return [record for record in lines if record["kind"] == kind]


def test_every_question_is_answered(measured: tuple[Path, str]) -> None:
    path, _ = measured
    (machine,) = records(path, "machine")
    assert machine["id"] == "mine"
    assert machine["command"][1] == "measure"
    transfers = records(path, "transfer")
    alone = {(t["route"], t["method"]) for t in transfers if not t["concurrent"]}
    assert alone == {
        (route, method) for route in ("h2d", "d2h", "peer", "local") for method in ("call", "gated")
    } - {("local", "call")}
    assert all(t["valid"] and len(t["seconds"]) >= 6 for t in transfers)
    assert {t["bytes"] for t in transfers if t["route"] == "h2d"} >= {1, 64, 95, 4096}
    together = [t for t in transfers if t["concurrent"]]
    assert {len(t["concurrent"]) for t in together} >= {1, 3}
    assert {x["method"] for x in records(path, "launch")} == {
        "submit", "sync", "gated", "row", "drain", "idle", "rest"
    }  # fmt: skip


def test_gpucast_reads_and_fits_them(measured: tuple[Path, str]) -> None:
    path, _ = measured
    data = gc.load(path)
    assert data.warnings == []
    for method in ("call", "gated"):
        fits = {fit.route: fit for fit in fit_transfers(data, method=method, replicates=40)}
        assert {"h2d", "d2h", "peer"} <= set(fits)
        assert np.isfinite(fits["h2d"].values).all()
        assert np.all(fits["h2d"].seconds(np.array([64.0, 4096.0])) > 0)


def test_two_estimates_of_the_latency_are_noted(measured: tuple[Path, str]) -> None:
    path, _ = measured
    notes = [note["about"] for note in records(path, "note") if "slope_s" in note.get("about", {})]
    assert {entry["copy"] for entry in notes} >= {
        "h2d pageable host>gpu0", "d2h pageable gpu0>host", "peer gpu0>gpu1"
    }  # fmt: skip


def test_fresh_runs_show_what_differs_from_run_to_run(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    few = ("--what", "launches", "--fresh", 3, "--interval", 1e9)
    finished = run("measure", *HOST, *few, "--quiet", "-o", path)
    assert finished.returncode == 0, finished.stderr
    known = [launch.run_to_run for launch in gc.load(path).launches if launch.run_to_run]
    # A fresh run has a second, which a busy machine may spend before the last of its probes.
    assert {variation.runs for variation in known} <= {2, 3}
    assert all(
        variation.sd >= 0 for variation in known
    )  # 0: all medians fell on one tick of the clock


def test_a_fresh_run_probes_launches_and_all_routes(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    finished = run("measure", *QUICK, "--probes", "-o", path)
    assert finished.returncode == 0, finished.stderr
    assert {launch["method"] for launch in records(path, "launch")} == {"submit", "sync", "gated"}
    routes = {transfer["route"] for transfer in records(path, "transfer")}
    assert routes == {"h2d", "d2h", "peer", "local"}


def test_what_is_not_there_is_noted_with_its_reason(measured: tuple[Path, str]) -> None:
    path, _ = measured
    texts = [note["text"] for note in records(path, "note")]
    assert any("graph" in text and "CPU devices have no graphs" in text for text in texts)


def test_the_report_is_readable(measured: tuple[Path, str]) -> None:
    _, report = measured
    assert "\x1b" not in report
    for heading in (
        "launch", "transfer, alone", "latency of 64 bytes", "times as long beside another copy",
        "host memory",
    ):  # fmt: skip
        assert heading in report


def test_records_may_go_to_stdout() -> None:
    finished = run("measure", *QUICK, "--what", "launches")
    assert finished.returncode == 0
    kinds = [json.loads(line)["kind"] for line in finished.stdout.splitlines()]
    assert kinds[0] == "machine"
    assert kinds.count("launch") > 5
    assert "launch on gpu0, submit" in finished.stderr


def test_what_a_budget_does_not_allow_is_skipped_and_noted(tmp_path: Path) -> None:
    """How a budget is shared out is tested without a clock: microbench/tests/run_test.cpp."""
    path = tmp_path / "records.jsonl"
    finished = run("measure", *HOST, "--fresh", 0, "--budget", 1e-9, "--quiet", "-o", path)
    assert finished.returncode == 0, finished.stderr
    skipped = [n for n in records(path, "note") if "the budget of 1e-09 s is spent" in n["text"]]
    assert skipped
    assert f"{len(skipped)}" in finished.stderr or "measurements were skipped" in finished.stderr


def test_an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    how = ["--fresh", "0", "--budget", "0", "--interval", "1e-9"]
    words, pipe = [PROGRAM, "measure", *HOST, *how, "-o", path], subprocess.PIPE
    running = subprocess.Popen(words, stdout=pipe, stderr=pipe)
    assert until(lambda: path.exists() and '"kind":"launch"' in path.read_text(), running)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=HANG)
    assert running.returncode == 1
    assert b"error: interrupted: " in err.splitlines()[-1]
    assert gc.load(path).launches


def test_exercise_prints_the_throughput_both_ways() -> None:
    finished = run("exercise", *HOST, "--bytes", 100000, "--seconds", 0.9, 0, 1)
    assert finished.returncode == 0, finished.stderr
    (line,) = finished.stdout.splitlines()  # it is made of a second of copies
    assert "gpu0>gpu1" in line
    assert "gpu1>gpu0" in line
    assert line.count("GB/s") == 2


def test_topology_is_the_machine_record() -> None:
    finished = run("topology", *HOST)
    machine = json.loads(finished.stdout)
    assert machine["kind"] == "machine"
    assert machine["tool"]["name"] == "gpucast-microbench"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("measure", "--what", "all"),
            '--what: "all" is none of transfers, concurrent, launches, overlap, skeleton, '
            "host-memory",
        ),
        (("measure", "--memory", "pined"), '--memory: "pined" is none of pageable, pinned'),
        (("measure", *HOST, "--memory", "pinned"), '--memory: "pinned" is not there on CPU'),
        (("measure", *HOST, "--devices", "2"), "--devices: 2 wanted, 2 present"),
        (("measure", "--engine", "opencl"), '--engine: "opencl" is none of auto, host, cuda'),
        (("measure", *HOST, "--budget", "-1"), "--budget: must not be negative"),
        (("measure", *HOST, "--fresh", "1"), "--fresh: must be 0, or 2 to 100"),
        (("measure", *HOST, "--interval", "0"), "--interval: must be greater than 0"),
        (("measure", *HOST, "--largest", "1"), "--largest"),
        (("measure", *HOST, "--colour"), "--colour"),
        (("measure", *HOST, "-o", "/nowhere/records.jsonl"), "/nowhere/records.jsonl"),
        (("exercise", *HOST, "0", "0"), "the same one twice"),
        (("exercise", *HOST, "5"), "--devices: 5 wanted"),
        (("exercise", *HOST), "devices"),
    ],
)
def test_wrong_options_are_one_line(arguments: tuple[str, ...], said: str) -> None:
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    errors = [line for line in finished.stderr.splitlines() if ": error: " in line]
    assert len(errors) == 1
    assert said in errors[0]


def test_a_full_disk_is_an_error_of_the_run() -> None:
    finished = run("measure", *QUICK, "-o", "/dev/full")
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].endswith("/dev/full: No space left on device")
