"""``measure``: the records of a grid, and that gpucast reads and fits them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
import mdapp

HOST = ("measure", "--engine", "host", "--host-devices", 3, "--quiet")
QUICK = ("--steps", 3, "--warm-up", 0)


def measured(path: Path, *arguments: object) -> list[dict[str, Any]]:
    finished = mdapp.run(*HOST, *arguments, "-o", path)
    assert finished.status == 0, finished.err
    assert finished.out == ""
    assert finished.err == ""
    return mdapp.steps_in(path.read_text())


def test_a_grid_gives_a_record_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    steps = measured(
        path, *QUICK, "--n", "64,97-99:1", "--gpus", "1-3", "--kernel", "claret,tuned",
        "--schedule", "star-serial,star-async,allgather",
    )  # fmt: skip
    cells = {(s["n"], s["gpus"], s["schedule"], s["kernel"]) for s in steps}
    assert len(steps) == len(cells) == 4 * 3 * 3 * 2
    assert all(len(s["seconds"]) == 3 and min(s["seconds"]) > 0 for s in steps)
    (machine,) = (r for r in mdapp.records_in(path.read_text()) if r["kind"] == "machine")
    assert machine["command"][1:4] == ["measure", "--engine", "host"]
    assert {s["machine"] for s in steps} == {machine["id"]}
    dataset = gc.load(path)
    assert dataset.warnings == []
    assert len(dataset.steps) == len(steps)


def test_sixteen_bytes_a_particle_go_to_every_device_and_twelve_come_back(tmp_path: Path) -> None:
    for step in measured(
        tmp_path / "steps.jsonl", *QUICK, "--n", "64,997", "--gpus", "1-3",
        "--schedule", "star-serial,star-async,allgather",
    ):  # fmt: skip
        n, gpus = step["n"], step["gpus"]
        there_and_back = {"h2d": 16 * n * gpus, "d2h": 12 * n, "exchange": 0}
        # Each device receives what the others integrate.
        among_them = {"h2d": 0, "d2h": 0, "exchange": 16 * n * (gpus - 1)}
        wanted = among_them if step["schedule"] == "allgather" else there_and_back
        assert step["bytes"] == wanted, step


@pytest.mark.serial
def test_the_phases_make_up_the_step(tmp_path: Path) -> None:
    # On a busy machine parts and steps are disturbed each in their own way: once in five is enough.
    for attempt in range(5):
        (step,) = measured(
            tmp_path / f"{attempt}.jsonl", "--n", 1000, "--kernel", "tuned", "--max-time", 0.3
        )
        parts = {name: min(seconds) for name, seconds in step["phases"].items() if seconds}
        assert parts["kernel"] > parts["cpu"] > 0
        if sum(parts.values()) == pytest.approx(min(step["seconds"]), rel=0.2):
            return
    pytest.fail(f"{parts} make up {min(step['seconds'])}")


def test_steps_end_once_the_median_is_known_or_time_is_up(tmp_path: Path) -> None:
    """Steps long enough that no clock ticks so coarsely that their median is known at once."""
    loose, tight = (
        measured(tmp_path / f"{name}.jsonl", "--n", 1000, "--interval", interval,
                 "--max-time", 0.5, "--warm-up", 0)[0]
        for name, interval in (("loose", 0.9), ("tight", 1e-12))
    )  # fmt: skip
    assert len(loose["seconds"]) < len(tight["seconds"])
    assert 0.5 <= sum(tight["seconds"]) < 2


def test_files_are_added_to_or_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    measured(path, *QUICK, "--n", 64, "--machine", "mine")
    before = path.read_bytes()
    refused = mdapp.run(*HOST, *QUICK, "--n", 97, "-o", path)
    assert refused.status == 2
    assert path.read_bytes() == before
    assert len(measured(path, *QUICK, "--n", 97, "--append", "--machine", "mine")) == 2
    assert path.read_bytes().startswith(before)
    # One machine to those who read it.
    assert list(gc.load(path).machines) == ["mine"]
    assert [s["n"] for s in measured(path, *QUICK, "--n", 99, "--force")] == [99]


def test_stdout_takes_records_and_stderr_progress() -> None:
    finished = mdapp.run(*HOST[:-1], *QUICK, "--n", 64, "--energy")
    assert finished.status == 0
    (step,) = mdapp.steps_in(finished.out)
    assert abs(step["energy_drift"]) < 1e-3
    assert finished.err.startswith("[1/1] n=64 gpus=1 star-serial claret pageable: ")


def test_what_was_measured_can_be_fitted_and_forecast(tmp_path: Path) -> None:
    """How well is another question, which a busy machine cannot answer: see the demo."""
    path = tmp_path / "steps.jsonl"
    measured(
        path, "--n", "343,512,729,1000,1331", "--gpus", "1-2", "--kernel", "tuned",
        "--max-time", 0.1,
    )  # fmt: skip
    model = gc.fit(gc.load(path), replicates=50)
    forecast = model.forecast(n=[1000, 1331, 2744, 20000], gpus=[1, 2])
    assert list(forecast["extrapolated"]) == [False] * 4 + [True] * 4
    for _, row in forecast.iterrows():
        assert 0 < row["low"] <= row["seconds"] <= row["high"] < np.inf
    for _, of_one_count in forecast.groupby("gpus"):
        assert of_one_count["seconds"].is_monotonic_increasing


def test_one_particle_has_no_energy_that_drifts(tmp_path: Path) -> None:
    alone, few = measured(tmp_path / "steps.jsonl", *QUICK, "--n", "1,8", "--energy")
    assert "energy_drift" not in alone
    assert abs(few["energy_drift"]) < 1e-3
