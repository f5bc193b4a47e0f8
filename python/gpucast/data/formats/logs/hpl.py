"""HPL and HPL-MxP: outputs of the reference program, of NVIDIA's and of AMD's.

A step is a whole solution; n is the order of the matrix. Each of the P x Q processes has a GPU in
programs for GPUs; in others they may be processor cores or hosts, so that the user is asked.

Source: HPL's HPL_pdtest.c; published outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data.formats.logs.lines import Known, Printed


def _gpus(known: Known) -> Mapping[str, str]:
    if not {"p", "q", "gpu"} <= known.keys():
        return {}
    return {"gpus": str(int(known["p"]) * int(known["q"]))}


LOG = Printed(
    name="hpl", what="HPL's and HPL-MxP's output", program="HPL", unit="unknowns", warms=False,
    marks=[r"^ ?(?:WR|WC|HPL_AI|HPL-MxP|HPL_MxP|WHX)\S* +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ "],
    lines=(
        r"^ ?(?:WR|WC|HPL_AI|HPL-MxP|HPL_MxP|WHX)\S* +<n> +<nb> +<p> +<q> +<seconds>\s",
    ),
    facts=[r"(?P<gpu>per GPU|HPL\S*-NVIDIA|NVIDIA HPC Benchmarks|rocHPL)"],
    more=_gpus,
    unclear="its P x Q processes may have a GPU each or none",
)  # fmt: skip
FORMATS = (LOG.format,)
