"""Steps that begin where a kernel is launched, whose name the user gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpucast.traces import phases, tables, waiting
from gpucast.traces.kernel_names import short
from gpucast.traces.sequence import of_threads
from gpucast.traces.step_making import kinds_of, steps_between, typical_of
from gpucast.traces.steps import NO_KIND, Ints, ProcessSteps
from gpucast.traces.steps_by_calls import light_steps
from gpucast.traces.trace import Process


def by_launches(process: Process, at: int, kernel: str) -> ProcessSteps | None:
    """From each launch of a kernel to the next one, of the thread that launches it most.

    Which kernel a call launches, full phases tell; steps of light phases are what makes the same
    calls.

    None where it is launched less than twice. ``kernel``: what its name has in it; ``at``: the
    process's place in the trace.
    """
    found = _of_full_phases(_full_part(process), at, kernel)
    if found is None:
        return None
    bounds = found.begins_ns
    whole = phases.of_spans(process, bounds[:-1], bounds[1:]) == phases.FULL
    usual = found.kept & whole & (found.kind == 0)
    light = light_steps(process, found.thread, bounds[:-1][usual], bounds[1:][usual])
    if light is None:
        made = steps_between(process, at, found.thread, bounds, found.kind, found.how)
        return replace(made, kept=found.kept & whole)
    both = np.union1d(bounds, light.bounds)
    light_kinds = np.where(light.whole, 0, NO_KIND)
    light_kept = typical_of(np.diff(light.bounds) / 1e9, light_kinds)
    kinds = np.maximum(
        _values(both, bounds, np.where(whole, found.kind, NO_KIND), NO_KIND),
        _values(both, light.bounds, light_kinds, NO_KIND),
    )
    made = steps_between(process, at, found.thread, both, kinds, found.how)
    kept = _values(both, bounds, (found.kept & whole).astype(np.int64), 0)
    kept += _values(both, light.bounds, light_kept.astype(np.int64), 0)
    return replace(made, kept=(kept > 0) & (made.phase != phases.BETWEEN))


def _of_full_phases(process: Process, at: int, kernel: str) -> ProcessSteps | None:
    names = process.names.items()
    numbers = [number for number, name in names if kernel in name or kernel in short(name)]
    work = process.work[
        (process.work["kind"] == tables.KERNEL) & process.work["name"].isin(numbers)
    ]
    rows = np.unique(waiting.calls_of(process, work["correlation"].to_numpy()))
    rows = rows[rows >= 0]
    if rows.size < 2:
        return None
    threads = process.calls["thread"].to_numpy()[rows]
    thread = int(np.bincount(threads).argmax())
    bounds = process.calls["start_ns"].to_numpy()[rows[threads == thread]]
    sequences = of_threads(process, waiting.of_calls(process))
    sequence = next(each for each in sequences if each.thread == thread)
    edges = np.searchsorted(sequence.start_ns, bounds)
    kinds = kinds_of(sequence.tokens, edges[:-1], edges[1:])
    how = f"from one launch of {kernel} to the next, {bounds.size - 1} times"
    return steps_between(process, at, thread, bounds, kinds, how)


def _full_part(process: Process) -> Process:
    """What was recorded in full phases, as if that were all."""
    calls = process.calls
    within = phases.of_spans(process, calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy())
    others = calls.loc[within != phases.FULL, "correlation"]
    work = process.work[~process.work["correlation"].isin(others)]
    return replace(
        process,
        calls=calls[within == phases.FULL].reset_index(drop=True),
        work=work.reset_index(drop=True),
        phases=process.phases.iloc[:0],
    )


def _values(bounds: Ints, of: Ints, values: Ints, otherwise: int) -> Ints:
    """Of each stretch between bounds the value that it has among the stretches ``of``."""
    at = np.minimum(np.searchsorted(of, bounds[:-1]), of.size - 2)
    same = (of[at] == bounds[:-1]) & (of[at + 1] == bounds[1:])
    return np.where(same, values[at], otherwise)
