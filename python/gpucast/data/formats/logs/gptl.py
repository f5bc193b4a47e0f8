"""Reads GPTL's timer tables, as simulations.toml describes."""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part
from gpucast.util.remarks import Kind

STEPS = ("CPL:RUN_LOOP", "prim_run_subcycle_c", "prim_run_subcycle", "prim_run")
"""Timers that run once a step."""
WHOLE = "prim_main_loop"
"""The timer of all steps together."""


def read(part: Part) -> None:
    """Report the first of the timers of steps that exists."""
    timers = {match["name"]: match for match in part.all(part.log.words["timer"])}
    name = next((timer for timer in (*STEPS, WHOLE) if timer in timers), None)
    if name is None:
        part.remark(f"has none of the timers of a step: {', '.join((*STEPS, WHOLE))}", "timers")
        return
    timer = timers[name]
    processes, calls = int(timer["processes"]), runs.decimal(timer["calls"])
    most = runs.decimal(timer["most"])
    if not processes or not calls or not most:
        part.remark(f"timer {name}: never called", name)
        return
    if name == WHOLE:
        text = f"times all steps together ({WHOLE}), which count as one step"
        part.remark(text, "steps", Kind.READ_AS)
    part.run(
        timer.start(), [most / max(1.0, calls / processes)], runs.rounding(timer["most"]),
        program="E3SM" if name.startswith("CPL") else "HOMMEXX", ranks=processes, case=name,
    )  # fmt: skip
