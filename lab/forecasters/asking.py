"""Run a rival in a process of its own, so that it can neither stop nor change the judging."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from gpucast.errors import InputError

WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Rival:
    """A forecaster: ``function(measured, asked, **options)`` of a file, run by an interpreter.

    ``measured`` has the columns n, gpus and seconds, and a row for each measurement; ``asked`` has
    n and gpus. The answer has ``seconds`` for each row of ``asked`` in order (NaN: no forecast),
    and ``low`` and ``high``, the ends of 90 % intervals, if the rival gives any.
    """

    name: str
    file: Path
    function: str = "forecast"
    options: Mapping[str, object] = field(default_factory=dict)
    python: Path = Path(sys.executable)

    def available(self) -> bool:
        """Whether its interpreter exists."""
        return self.python.exists()


Question = tuple[pd.DataFrame, pd.DataFrame]
"""The measurements, and the cells to forecast."""


def rival_at(place: str, python: Path) -> Rival:
    """The rival that a user names: FILE.py or FILE.py:FUNCTION.

    Raises:
        InputError: there is no such file.
    """
    file, _, function = place.partition(":")
    if not Path(file).is_file():
        raise InputError("no such file; name a rival as FILE.py or FILE.py:FUNCTION", file=file)
    return Rival(place, Path(file).resolve(), function or "forecast", python=python)


def answers(rival: Rival, questions: Sequence[Question]) -> list[pd.DataFrame]:
    """A rival's answers, a row for each cell to forecast: seconds, low and high (NaN without a
    forecast), the processor time of the function (``elapsed``, s), and the reason if there is no
    forecast (``refused``). A process that has ended is restarted for the next question."""
    command = [rival.python, "-P", WORKER, rival.file, rival.function, json.dumps(rival.options)]
    lines = [
        json.dumps([table.to_dict("list") for table in question]) + "\n" for question in questions
    ]
    replies: list[str] = []
    while len(replies) < len(lines):
        run = subprocess.run(
            command, input="".join(lines[len(replies) :]), stdout=subprocess.PIPE, encoding="utf-8"
        )
        replies += run.stdout.splitlines()
        if len(replies) < len(lines):
            why = f"the rival's process ended with status {run.returncode}"
            replies.append(json.dumps({"refused": why}))
    none = {**dict.fromkeys(("seconds", "low", "high", "elapsed"), np.nan), "refused": ""}
    return [
        pd.DataFrame({**none, **json.loads(reply)}, index=range(len(asked)))
        for reply, (_, asked) in zip(replies, questions, strict=True)
    ]
