"""Hugging Face's Trainer: the lines it prints, and ``trainer_state.json``.

Seconds a step follow from ``train_steps_per_second``, or from ``train_runtime`` over the steps if
the rate has too few digits: a mean of the whole run, including start-up and evaluations. n is the
total train batch size if it is printed; otherwise the user is asked, with the size that the rates
imply. Versions before 4.7 print steps a second as samples a second.

GPUs are read from ``world_size``, ``n_gpu`` or the launch command, if the log has them.

Source: transformers' trainer.py and trainer_utils.py; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED, VALUE

LOG = Printed(
    name="hf-trainer", what="Hugging Face's Trainer", program="Hugging Face Trainer",
    unit="samples", rank=2, warms=False, averages_of="total",
    marks=[rf"\btrain_steps_per_second{VALUE}[0-9]", rf"\btrain_runtime{VALUE}[0-9]"],
    lines=(
        rf"\btrain_runtime{VALUE}(?P<total>[0-9][^\"',}}\n]*)",
        rf"\btrain_steps_per_second{VALUE}<rate>",
        rf"\btrain_samples_per_second{VALUE}<work_rate>(?=[^{{}}]{{0,80}}train_steps_per_second)",
    ),
    facts=[
        rf"\bmax_steps(?:{VALUE}| )<steps>", rf"\bglobal_step{VALUE}<steps>",
        r"Total optimization steps *= *<steps>", r"Total train batch size[^\n]*= *<n>",
        rf"[Pp]er[_ ]device[_ ]train[_ ]batch[_ ]size(?:{VALUE}| )<micro>",
        rf"gradient[_ ]accumulation[_ ]steps(?:{VALUE}| )<accumulation>", *LAUNCHED,
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
