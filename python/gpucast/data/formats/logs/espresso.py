"""Quantum ESPRESSO's pw.x and other programs.

A step is the whole run, by the wall time in its last line. n is the atoms of the cell. Each process
has its own GPU if it sees as many GPUs as there are processes; otherwise the user is asked, because
processes may share a GPU.

Source: Quantum ESPRESSO's UtilXlib/clocks_handler.f90, Modules/environment.f90; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    # Several processes that see one GPU may share it.
    ranks, visible = int(known.get("ranks", "0")), int(known.get("visible", "0"))
    return {"gpus": str(ranks)} if 0 < ranks <= visible else {}


END = r"^ *(?:PWSCF|CP|PHONON|NEB|TDDFPT|EPW) +: .*CPU +(?P<total>[0-9][0-9a-z. ]*?) *WALL"
START = r"^ *Program (?P<what>[A-Z0-9_]+) +v\.(?P<version>[0-9.]+)"
LOG = Printed(
    name="espresso", what="Quantum ESPRESSO's output", program="Quantum ESPRESSO", unit="atoms",
    job=True, start=START, marks=[START + r"[^\n]* starts on", END],
    lines=(END,),
    facts=[
        START, r"number of atoms/cell += +<n>", r"running on +<ranks> processors",
        r"Number of MPI processes: +<ranks>", r"MPI processes distributed on +<nodes> nodes",
        r"GPU acceleration is ACTIVE[.,]? *<visible> visible GPUs? per MPI rank",
    ],
    case="{what} {version}", more=_gpus,
    unclear="does not say how many GPUs its processes used",
)  # fmt: skip
FORMATS = (LOG.format,)
