"""GPTL's timer tables (HOMMEXX, E3SM).

A line is a timer: name, whether it is on, processes, threads, calls of all processes, seconds
summed over them, and the slowest and the fastest process. Seconds a step are the slowest's over
its calls, of the first of these timers that is there: those that run once a step, then the whole
main loop, whose single call is then the step.

Neither size nor GPUs are printed.

Source: GPTL's gptl.c (GPTLpr_summary); published HOMMEXX timings.
"""

from __future__ import annotations

import re

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.util.remarks import Kind, remark

STEPS = ("CPL:RUN_LOOP", "prim_run_subcycle_c", "prim_run_subcycle", "prim_run")
"""Timers that run once a step."""

WHOLE = "prim_main_loop"
"""The timer of all steps together."""

_TIMER = re.compile(
    r'"(?P<name>[^"\n]+)" +\S+ +(?P<processes>[0-9]+) +(?P<threads>[0-9]+) +'
    r"(?P<calls>[0-9.eE+-]+) +(?P<total>[0-9.eE+-]+) +(?P<most>[0-9.]+) \( *[0-9]+ +[0-9]+\)"
)


def detect(text: str) -> bool:
    """Whether it is a table of timers."""
    return _TIMER.search(text) is not None


def parse(text: str) -> Found:
    """One run, of the timer that tells a step's time."""
    timers = {match["name"]: match for match in _TIMER.finditer(text)}
    name = next((each for each in (*STEPS, WHOLE) if each in timers), None)
    if name is None:
        known = ", ".join((*STEPS, WHOLE))
        text = f"has none of the timers of a step: {known}"
        return Found(remarks=[remark(Kind.LACKS, text, about="timers")])
    timer = timers[name]
    processes, calls = int(timer["processes"]), runs.decimal(timer["calls"])
    seconds = runs.decimal(timer["most"])
    if not processes or not calls or not seconds:
        text = f"timer {name}: never called"
        return Found(remarks=[remark(Kind.LACKS, text, about=name)])
    found = Found()
    if name == WHOLE:
        text = f"times all steps together ({WHOLE}): they count as one step"
        found.remarks.append(remark(Kind.READ_AS, text, about="steps"))
    found.runs.append(
        Run(
            program="E3SM" if name.startswith("CPL") else "HOMMEXX",
            line=runs.Lines(text).of(timer.start()),
            seconds=(seconds / max(1.0, calls / processes),),
            uncertainty=runs.rounding(timer["most"]),
            ranks=processes,
            case=name,
        )
    )
    return found


FORMATS = (runs.log_format("gptl", "GPTL's timers (HOMMEXX, E3SM)", detect, parse),)
