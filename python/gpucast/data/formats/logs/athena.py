"""Athena++, AthenaK and programs of Parthenon (AthenaPK, KHARMA).

Seconds a step are those of the cycles between two lines (``wsec_step``), or follow from the zone
cycles a second of each line, or are the total time over the cycles. n is the zones: zone cycles
over cycles, if the end states both. The user is asked for the GPUs.

Source: Parthenon's src/driver/driver.cpp, Athena++'s src/main.cpp; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed

_END = {"zone_cycles", "speed", "total", "steps"}


def _zones(known: Known) -> Mapping[str, str]:
    told = {name: float(text) for name, text in known.items() if name in _END}
    zone_cycles = told.get("zone_cycles") or told.get("speed", 0.0) * told.get("total", 0.0)
    return {"n": f"{zone_cycles / told['steps']:.0f}"} if zone_cycles and told.get("steps") else {}


LOG = Printed(
    name="athena", what="outputs of Athena++, AthenaK and Parthenon", program="Athena",
    unit="zones", start=r"^Setup complete, ", marks=[r"zone-cycles/\w*sec\w* *= *[0-9]"],
    lines=(
        r"\bcycle=<step> time=", r" wsec_step=<since>", r"^time=\S+ cycle=<steps>",
        r"^cycle=.*zone-cycles/wsec(?:_step)? ?= ?<work_rate>",
        r"^(?:cpu time|walltime) used *= *<total>",
    ),
    facts=[r"^zone-cycles *= *<zone_cycles>", r"^zone-cycles/\w+second *= *<speed>"], more=_zones,
)  # fmt: skip
FORMATS = (LOG.format,)
