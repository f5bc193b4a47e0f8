"""NVIDIA DeepLearningExamples' DLLogger: its printed lines and its JSON lines.

Step times (``train_iter_time``, ``train_step_timing in s``) and rates of work
(``train.total_ips``, ``train_throughput``) are read. If neither is printed for each step, the times
of day of the lines are used. A batch may be that of each GPU or of all: a rate beside times tells
which; otherwise the user is asked.

Source: NVIDIA/dllogger; NVIDIA/DeepLearningExamples; published logs.
"""

from __future__ import annotations

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.training import LAUNCHED, VALUE

DLL = r"(?<!\w)DLLL? [^\n]*?(?<![\w.])"
TIME = r"(?:train[._])?(?:iter(?:ation)?_time|step_time|(?:train_)?step_timing in s)"
WORK = (
    r"(?:train[._])?(?:total_ips|throughput(?:_train)?|imgs?_per_s(?:ec)?|items_per_sec|"
    r"frames_per_sec|(?:training_)?sequences_per_second)"
)
LOG = Printed(
    name="dllogger", what="DLLogger's lines (NVIDIA DeepLearningExamples)",
    program="DeepLearningExamples", unit="samples", marks=[r'(?<!\w)(?:DLLL \{ *"|DLL [0-9]{4}-)'],
    lines=(
        DLL + TIME + VALUE + "<seconds>", DLL + WORK + VALUE + "<work_rate>",
        DLL + rf"(?:Iteration|step){VALUE}(?:\[[0-9]+, *)?<step>",
        DLL + rf"global_step{VALUE}<step>",
        DLL + rf"e2e_train_time{VALUE}<total>",
        r"\bDLL <clock> - .*Iteration", r"\bDLL <clock> - \([0-9]+, *<step>\)",
        r'^DLLL .*"datetime": *"<clock>"',
    ),
    facts=[
        *LAUNCHED, rf"\bglobal_batch_size{VALUE}<n>", rf"\b(?:train_)?batch_size{VALUE}<batch>",
        r"--batch[-_]size[ =]+<batch>",
        r"\bmax_steps=<steps>",
    ],
)  # fmt: skip
FORMATS = (LOG.format,)
