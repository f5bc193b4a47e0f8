"""``measure``: the records of a grid, which gpucast reads and fits."""

from pathlib import Path
from typing import Any

import numpy as np

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


def test_a_cell_takes_as_many_steps_as_it_is_told_and_few_where_it_has_no_time(
    tmp_path: Path,
) -> None:
    """When the median is known, or time is up, is tested without a clock (stopping_test.cpp)."""
    five, none = (
        measured(tmp_path / f"{name}.jsonl", "--n", 64, "--warm-up", 0, *how)[0]
        for name, how in (("five", ("--steps", 5)), ("none", ("--max-time", 1e-9)))
    )
    assert len(five["seconds"]) == 5
    assert len(none["seconds"]) == 1


def test_files_are_added_to_or_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    measured(path, *QUICK, "--n", 64, "--machine", "mine")
    before = path.read_bytes()
    refused = mdapp.run(*HOST, *QUICK, "--n", 97, "-o", path)
    assert refused.status == 2
    assert path.read_bytes() == before
    assert len(measured(path, *QUICK, "--n", 97, "--append", "--machine", "mine")) == 2
    assert path.read_bytes().startswith(before)
    # For readers, it is one machine.
    assert list(gc.load(path).machines) == ["mine"]
    assert [s["n"] for s in measured(path, *QUICK, "--n", 99, "--force")] == [99]


def test_stdout_takes_records_and_stderr_progress() -> None:
    finished = mdapp.run(*HOST[:-1], *QUICK, "--n", 64, "--energy")
    assert finished.status == 0
    (step,) = mdapp.steps_in(finished.out)
    assert abs(step["energy_drift"]) < 1e-3
    assert finished.err.startswith("[1/1] n=64 gpus=1 star-serial claret pageable: ")


def test_what_was_measured_can_be_fitted_and_forecast(tmp_path: Path) -> None:
    """A busy machine cannot show the quality of the fit: see the demo."""
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
        # Sizes that a step takes as long for change places where other work comes between.
        assert of_one_count["seconds"].idxmax() == of_one_count["n"].idxmax()


def test_one_particle_has_no_energy_that_drifts(tmp_path: Path) -> None:
    alone, few = measured(tmp_path / "steps.jsonl", *QUICK, "--n", "1,8", "--energy")
    assert "energy_drift" not in alone
    assert abs(few["energy_drift"]) < 1e-3
