"""PIConGPU's output.

Seconds a step are the time between two lines of progress over the steps between them, or the
calculation's time, without initialization, over all steps. n is the cells of the grid and GPUs are
the devices, if the log has the command line (``-g``, ``-d``); otherwise the user is asked.

Source: PIConGPU's SimulationHelper.hpp; published output.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _devices(known: Known) -> Mapping[str, str]:
    return {"mesh": ",".join(known["devices"].split())} if "devices" in known else {}


LOG = Printed(
    name="picongpu", what="PIConGPU's output", program="PIConGPU", unit="cells",
    start=r"^PIConGPU: |\+ .*bin/picongpu ",
    marks=[r"calculation +simulation time:", r"% = +[0-9]+ \| time elapsed:.*avg time per step:"],
    lines=(
        r"[0-9]+ % = *(?P<step>(?P<steps>[0-9]+)) \| time elapsed: *(?P<elapsed>[^|]*?) *\|",
        r"calculation +simulation time: [^\n]*= *<total> sec",
        r"calculation +simulation time: +(?P<total>[^=\n<]+)$",
    ),
    facts=[
        r"picongpu[^\n]* -g +<grid>", r"picongpu[^\n]* -s +<steps>",
        r"picongpu[^\n]* -d +(?P<devices>[0-9]+(?: +[0-9]+){0,2})",
    ],
    more=_devices,
)  # fmt: skip
FORMATS = (LOG.format,)
