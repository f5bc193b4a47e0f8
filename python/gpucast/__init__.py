"""How many GPUs should n particles get, and native or remote ones?

    import gpucast as gc
    data = gc.load("dscuda")
    model = gc.fit(data, path="infiniband")
    model.forecast(n=[1e3, 1e4, 1e5], gpus=range(1, 9))   # pandas DataFrame
    model.best(n=1e5)

Names are loaded when they are first used, so that a command pays only for what it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpucast import figures as figures
    from gpucast.answers.comparison import compare as compare
    from gpucast.answers.doubts import doubts as doubts
    from gpucast.answers.planning.plan import Plan as Plan
    from gpucast.answers.planning.plan import plan as plan
    from gpucast.answers.validation import validate as validate
    from gpucast.data import bundled_files as bundled_files
    from gpucast.data.dataset import Dataset as Dataset
    from gpucast.data.loading import load as load
    from gpucast.data.loading import read as read
    from gpucast.data.selection import StepSelection as StepSelection
    from gpucast.errors import GpucastError as GpucastError
    from gpucast.errors import InputError as InputError
    from gpucast.fitting.fit import fit as fit
    from gpucast.model.files import load_model as load_model
    from gpucast.model.fitted import Model as Model
    from gpucast.model.formula import step_times as step_times
    from gpucast.paths.curves import fit_transfers as fit_transfers
    from gpucast.paths.what_if import what_if as what_if
    from gpucast.show.proposal.folder import proposal as proposal

_HOME = {
    "Dataset": "data.dataset",
    "GpucastError": "errors",
    "InputError": "errors",
    "Model": "model.fitted",
    "Plan": "answers.planning.plan",
    "StepSelection": "data.selection",
    "bundled_files": "data",
    "compare": "answers.comparison",
    "doubts": "answers.doubts",
    "fit": "fitting.fit",
    "fit_transfers": "paths.curves",
    "load": "data.loading",
    "load_model": "model.files",
    "plan": "answers.planning.plan",
    "proposal": "show.proposal.folder",
    "read": "data.loading",
    "step_times": "model.formula",
    "validate": "answers.validation",
    "what_if": "paths.what_if",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "figures":
        return importlib.import_module("gpucast.figures")
    if name in _HOME:
        return getattr(importlib.import_module(f"gpucast.{_HOME[name]}"), name)
    raise AttributeError(f"module 'gpucast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "figures"]
