"""Kripke's output.

A step is an iteration of the solver: grind time, or inverse throughput, times unknowns. Each MPI
task has a GPU if the architecture is CUDA or HIP; otherwise the user is asked.

Source: LLNL/Kripke's src/kripke.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _facts(known: Known) -> Mapping[str, str]:
    gpus = {"gpus": known["ranks"]} if {"architecture", "ranks"} <= known.keys() else {}
    parts = [known.get(name, "") for name in ("zones", "groups", "directions")]
    return {**gpus, **({"grid": " ".join(parts)} if all(parts) and "n" not in known else {})}


LOG = Printed(
    name="kripke", what="Kripke's output", program="Kripke", unit="unknowns", warms=False,
    marks=[r"^ *Grind time *: +[0-9]"],
    lines=(r"Grind time *: +<work_seconds>",),
    facts=[
        r"Number of unknowns: +<n>", r"Total MPI tasks: +<ranks>", r"Groups: +<groups>",
        r"Zones: .*\(<zones> total\)", r"(?:with|\() ?<directions> points",
        r"Architecture: +(?P<architecture>CUDA|HIP)",
    ],
    more=_facts, unclear="its MPI tasks may have a GPU each or none",
)  # fmt: skip
FORMATS = (LOG.format,)
