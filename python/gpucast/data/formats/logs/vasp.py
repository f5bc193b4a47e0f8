"""VASP's OUTCAR.

A step is an ionic step (``LOOP+``, real time) where there are several, of which the first is left
out; in a run with one of them, it is that one. n is the ions. OUTCAR does not say how many GPUs
there were: they are asked for (builds for OpenACC have one a rank).

Source: VASP's OUTCAR as its wiki shows it; published outputs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed

LOG = Printed(
    name="vasp", what="VASP's OUTCAR", program="VASP", unit="ions",
    marks=[("vasp\\.[0-9]", r"LOOP\+?: +(?:VPU|cpu) time")],
    lines=(r"LOOP\+: +(?:VPU|cpu) time +[0-9.*]+: +(?:CPU|real) time +<seconds>",),
    facts=[
        r"vasp\.(?P<version>[0-9]+\.[0-9]+\.[0-9]+)", r"number of ions +NIONS *= *<n>",
        r"running +<ranks> mpi-ranks", r"on +<nodes> nodes", r"running on +<ranks> total cores",
    ],
    case="{version}", unclear="OUTCAR does not say on how many GPUs it ran",
)  # fmt: skip
FORMATS = (LOG.format,)
