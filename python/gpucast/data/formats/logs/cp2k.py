"""CP2K's output.

A step of molecular dynamics is an MD step (``CPU time per MD step``, which is wall time); the first
is left out. A step of other runs is the whole run, by the timer ``CP2K`` of the slowest process. n
is the number of atoms. GPUs are DBCSR's devices of a node, at most one for each process; the number
of nodes is not printed, so that the user is asked if there are more processes than devices.

Source: cp2k's md_energies.F, timings_report.F; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    devices, ranks = int(known.get("devices", "0")), int(known.get("ranks", "0"))
    return {"gpus": str(ranks)} if 0 < ranks <= devices else {}


STEP = r"^ *(?:MD\| CPU time per MD step \[s\]|CPU TIME \[s\] +=) +<seconds>"
LOG = Printed(
    name="cp2k", what="CP2K's output", program="CP2K", unit="atoms", job=True,
    start=r"CP2K\| version string:",
    marks=[r"CP2K\| version string", STEP, r"^ CP2K +[0-9]+ +1\.0 "],
    lines=(
        r"^ *(?:MD\| )?(?:STEP NUMBER +=|Step number) +<step>",
        STEP,
        r"^ CP2K +[0-9]+ +1\.0 +[0-9.]+ +[0-9.]+ +[0-9.]+ +<total>\s*$",
    ),
    facts=[
        r"- Atoms: +<n>", r"Total number of message passing processes +<ranks>",
        r"DBCSR\| ACC: Number of devices/node +<devices>",
        r"CP2K\| version string: +(?P<version>[^\n]+?)\s*$", r"GLOBAL\| Run type +(?P<type>\S+)",
    ],
    case="{version}, {type}", more=_gpus,
    unclear="CP2K does not state how many GPUs of how many nodes it used",
)  # fmt: skip
FORMATS = (LOG.format,)
