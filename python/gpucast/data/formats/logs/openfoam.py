"""OpenFOAM's solvers.

A step is a time step, or an iteration of a steady solver, from one ``ExecutionTime`` to the next.
This is processor time, which has more digits than the clock's and excludes waiting; a remark says
so if waiting is more than a tenth. n is the cells, if the log has the output of ``checkMesh``; the
user is asked for the GPUs.

Source: OpenFOAM's src/OpenFOAM/db/Time/Time.C; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs import lines
from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.log import Part
from gpucast.util.remarks import Kind

LINE = r"^ExecutionTime = <elapsed> s  ClockTime = <passed> s"


def _read(part: Part) -> None:
    lines.read(part)
    last = part.last(LINE)
    if last is not None:
        worked, passed = float(last["elapsed"]), float(last["passed"])
        if passed - 1 > 1.1 * worked:
            text = f"its clock shows {passed:g} s, but its processors worked for {worked:g} s"
            part.remark(f"{text}: steps exclude waits", "seconds", Kind.READ_AS)


LOG = Printed(
    name="openfoam", what="OpenFOAM's log", program="OpenFOAM", unit="cells", line_a_step=True,
    start=r"^Exec +: ", marks=[LINE], lines=(LINE,), read=_read,
    facts=[r"^Build +: (?P<version>\S+)", r"^Exec +: (?P<solver>\w+)", r"^nProcs : <ranks>",
           r"^ +cells: +<n>"],
    case="{solver} {version}",
)  # fmt: skip
FORMATS = (LOG.format,)
