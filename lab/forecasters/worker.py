"""Run one rival in a process of its own, possibly under another interpreter; asking.py starts it.

    python -P worker.py FILE FUNCTION OPTIONS

OPTIONS, a JSON object, are keyword arguments of the function. Each line of stdin is a question in
JSON, the columns of two tables: the measurements and the cells to forecast. A line of stdout
answers it: ``seconds``, if there are intervals also ``low`` and ``high``, and the processor time of
the function (``elapsed``, s); or the reason why it is ``refused``. Output of the rival goes to
stderr.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd


@cache
def function_of(file: str, name: str) -> Callable[..., pd.DataFrame]:
    """The function of a Python file, which can import files of its folder."""
    sys.path.insert(0, str(Path(file).parent))
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., pd.DataFrame] = getattr(module, name)
    return function


def answer(question: str, file: str, name: str, options: str) -> dict[str, Any]:
    try:
        forecast = function_of(file, name)
        measured, asked = map(pd.DataFrame, json.loads(question))
        begin = time.process_time()
        table = pd.DataFrame(forecast(measured, asked, **json.loads(options)))
        elapsed = time.process_time() - begin
        if len(table) != len(asked):
            raise ValueError(f"{len(table)} rows for {len(asked)} cells")
        columns = ["seconds", *(end for end in ("low", "high") if end in table)]
        return {**table[columns].astype(float).to_dict("list"), "elapsed": elapsed}
    except Exception as error:  # a rival may raise anything
        return {"refused": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            print(json.dumps(answer(line, *sys.argv[1:])), file=answers, flush=True)
