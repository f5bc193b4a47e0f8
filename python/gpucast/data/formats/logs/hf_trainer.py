"""Hugging Face's Trainer: the lines it prints, and ``trainer_state.json``.

Seconds a step are those of ``train_steps_per_second``, or ``train_runtime`` over the steps where
the rate has too few digits: a mean of the whole run, start-up and evaluations included. n is the
total train batch size, if its line is there; else it is asked for, with what the rates say of it.
What versions before 4.7 call samples a second, without steps a second beside it, are steps.

GPUs are not printed, but where the log says ``world_size``, ``n_gpu`` or how it was launched.

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
