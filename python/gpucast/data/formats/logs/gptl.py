"""GPTL's timer tables (HOMMEXX, E3SM).

A line is a timer: name, whether it is on, processes, threads, calls of all processes, seconds
summed over them, and the slowest and the fastest process. Seconds a step are those of the slowest
process over its calls, for the first of these timers that exists: those that run once a step, then
the whole main loop, whose single call is then the step.

The log states neither size nor GPUs: the user is asked.

Source: GPTL's gptl.c (GPTLpr_summary); published HOMMEXX timings.
"""

from __future__ import annotations

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part
from gpucast.util.remarks import Kind

STEPS = ("CPL:RUN_LOOP", "prim_run_subcycle_c", "prim_run_subcycle", "prim_run")
"""Timers that run once a step."""
WHOLE = "prim_main_loop"
"""The timer of all steps together."""
TIMER = (
    r'"(?P<name>[^"\n]+)" +\S+ +(?P<processes>[0-9]+) +(?P<threads>[0-9]+) +'
    r"(?P<calls>[0-9.eE+-]+) +(?P<total>[0-9.eE+-]+) +(?P<most>[0-9.]+) \( *[0-9]+ +[0-9]+\)"
)


def _read(part: Part) -> None:
    timers = {match["name"]: match for match in part.all(TIMER)}
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


LOG = Log(name="gptl", what="GPTL's timers (HOMMEXX, E3SM)", read=_read, marks=[TIMER])
FORMATS = (LOG.format,)
