"""Logs of programs that people run, one module a program.

To add one, drop a module in here, as ``log.py`` says; nothing else has to be changed.
"""

from __future__ import annotations

import importlib
import pkgutil

from gpucast.data.formats import Format


def _formats() -> tuple[Format, ...]:
    formats: list[Format] = []
    for module in pkgutil.iter_modules(__path__):
        formats += getattr(importlib.import_module(f"{__name__}.{module.name}"), "FORMATS", ())
    return tuple(formats)


FORMATS = _formats()
