"""VASP's OUTCAR.

A step is an ionic step (``LOOP+``, real time). If there are several, the first is left out. n is
the number of ions. OUTCAR does not state the GPUs, so that the user is asked (OpenACC builds have
one for each rank).

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
