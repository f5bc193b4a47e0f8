"""Traces without GPU work in light phases: which steps provide which times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpucast.data.traces import find_steps, phases, read, tables
from gpucast.data.traces.summary import summarize
from gpucast.data.traces.tables import frame
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.writing import write
from made_traces import MadeTrace

US = 1e-6
STEPS, LATER = 40, 100


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Steps whose kernels take longer while recorded: those of the first LATER steps."""
    made = MadeTrace()
    for at in range(LATER + STEPS):
        made.launch("a", seconds=(30 if at < LATER else 20) * US)
        made.launch("b", seconds=10 * US)
        made.copy(8, "d2h")
    return with_phases(read(made.write(tmp_path / "T")), LATER)


def with_phases(trace: Trace, full_steps: int) -> Trace:
    """A trace without the work of later steps; the recorder switched within a step."""
    (process,) = trace.processes
    starts, ends = (process.calls[name].to_numpy() for name in ("start_ns", "end_ns"))
    at = 3 * full_steps + 1
    later = process.calls["correlation"].to_numpy()[at:]
    light = {
        "start_ns": [starts[0], starts[at]],
        "end_ns": [ends[at - 1], ends[-1]],
        "full": [1, 0],
    }
    work = process.work[~process.work["correlation"].isin(later)].reset_index(drop=True)
    return replace(trace, processes=(replace(process, work=work, phases=frame("phases", light)),))


def test_steps_of_a_full_phase_without_its_kernels_do_not_count(
    tmp_path: Path, trace: Trace
) -> None:
    process = only(trace)
    kernels = process.work["kind"] == tables.KERNEL
    starts = process.calls["start_ns"].to_numpy()
    begins = starts[[0, 3 * LATER // 2, 3 * LATER]]
    halves = {"start_ns": begins, "end_ns": [*(begins[1:] - 1), starts[-1] + 1], "full": [1, 1, 0]}
    lost = kernels & (process.work["start_ns"] >= begins[1])
    broken = replace(process, work=process.work[~lost], phases=frame("phases", halves))
    write(replace(trace, processes=(broken,)), tmp_path / "broken.trace")
    (recorded,) = read(tmp_path / "broken.trace").processes
    assert recorded.phases["full"].tolist() == [phases.FULL, phases.LACKING, phases.LIGHT]
    assert recorded.lacking_phases == 1
    (steps,) = find_steps(read(tmp_path / "broken.trace")).processes
    lacking = (steps.begins_ns[:-1] >= begins[1]) & (steps.begins_ns[1:] < begins[2])
    assert lacking.sum() >= LATER // 2 - 2
    assert not steps.kept[lacking].any()
    assert steps.kept[~lacking].sum() >= LATER // 2 + STEPS - 6


def only(trace: Trace) -> Process:
    (process,) = trace.processes
    return process


def test_steps_are_the_same_with_and_without_records_of_their_work(trace: Trace) -> None:
    (steps,) = find_steps(trace).processes
    assert set(steps.calls[steps.kept]) == {3}
    assert np.count_nonzero(steps.phase == phases.BETWEEN) == 1
    assert not steps.kept[steps.phase == phases.BETWEEN].any()
    assert steps.kept[steps.phase == phases.LIGHT].sum() >= STEPS - 2


def test_work_is_told_of_full_phases_and_the_undisturbed_step_of_light_ones(trace: Trace) -> None:
    (steps,) = find_steps(trace).processes
    summary = summarize(only(trace), steps)
    kernels = {work.name: work for work in summary.work if work.kind == "kernel"}
    assert {name: kernel.count for name, kernel in kernels.items()} == {"a": 1, "b": 1}
    assert kernels["a"].seconds == pytest.approx(30 * US, rel=0.01)
    assert summary.steps.light_seconds is not None
    assert summary.steps.seconds - summary.steps.light_seconds == pytest.approx(10 * US, rel=0.05)


def test_phases_are_written_and_read(trace: Trace, tmp_path: Path) -> None:
    write(trace, tmp_path / "copy")
    assert only(read(tmp_path / "copy")).phases.equals(only(trace).phases)


def test_a_span_is_in_a_phase_or_between_two(trace: Trace) -> None:
    process = only(trace)
    (first, second), end = process.phases["start_ns"], int(process.phases["end_ns"].iloc[0])
    spans = [(first, end), (first, end + 1), (second, second + 1), (first - 1, end)]
    begins, ends = (np.array(bounds, np.int64) for bounds in zip(*spans, strict=True))
    assert phases.of_spans(process, begins, ends).tolist() == [
        phases.FULL, phases.BETWEEN, phases.LIGHT, phases.BETWEEN,
    ]  # fmt: skip
