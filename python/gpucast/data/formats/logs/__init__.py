"""Logs of programs that people run, one module a program.

To add one, drop a module in here that has a tuple ``FORMATS``, made by ``runs.log_format`` from
two functions: whether a text is such a log, and the runs that it holds.
"""

from __future__ import annotations

import importlib
import pkgutil

from gpucast.data.formats import Format


def _formats() -> tuple[Format, ...]:
    found: list[Format] = []
    for module in pkgutil.iter_modules(__path__):
        found += getattr(importlib.import_module(f"{__name__}.{module.name}"), "FORMATS", ())
    return tuple(found)


FORMATS = _formats()
