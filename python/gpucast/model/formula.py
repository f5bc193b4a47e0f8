"""Step times of a model with given parameters, to try a formula or to make data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpucast import _core
from gpucast.errors import InputError
from gpucast.model.asked import (
    Numbers,
    checked_counts,
    checked_sizes,
    outer,
    whole_numbers,
)
from gpucast.model.intervals import Array

if TYPE_CHECKING:
    import pandas


def step_times(
    terms: str,
    parameters: Mapping[str, float],
    n: Numbers,
    gpus: Numbers,
    *,
    k: int = 1,
    cores: float = 0.0,
    sms: float = 0.0,
    block: float = 0.0,
) -> pandas.DataFrame:
    """Return step times of a model of our own programs with given parameters, for every n with
    every GPU count, one row each.

    Args:
        terms: ``GPU+CPU+COM``, such as ``wave+linear+star-serial``, with transfer times linear in
            size.
        parameters: the value of each parameter of the terms, in SI units.
        n: sizes.
        gpus: GPU counts.
        k: the structural integer of terms that have one.
        cores, sms, block: cores and multiprocessors of a GPU, threads of a block, for terms that
            need them.

    Returns:
        Columns n, gpus, seconds, t_gpu, t_cpu, t_com; times in seconds.

    Raises:
        InputError: a term is unknown; a parameter is missing, unknown or not a number; something
            that a term needs is not given; or an n or GPU count is out of range.
    """
    import pandas

    model = _model(terms, k, cores, sms, block)
    sizes, counts = outer(n, gpus)
    t_gpu, t_cpu, t_com, _ = _core.forecast(
        model,
        _values(model, parameters),
        np.empty((0, len(model.parameters))),
        [],
        checked_sizes(sizes),
        checked_counts(counts),
    )
    return pandas.DataFrame(
        {
            "n": whole_numbers(sizes),
            "gpus": counts.astype(np.int64),
            "seconds": t_gpu + t_cpu + t_com,
            "t_gpu": t_gpu,
            "t_cpu": t_cpu,
            "t_com": t_com,
        }
    )


def _model(terms: str, k: int, cores: float, sms: float, block: float) -> _core.Model:
    named = terms.split("+")
    if len(named) != 3:
        raise InputError(
            f"{terms!r} is not GPU+CPU+COM (such as wave+linear+star-serial)", field="terms"
        )
    catalogue = (_core.GPU_TERMS, _core.CPU_TERMS, _core.COM_TERMS)
    for name, known in zip(named, catalogue, strict=True):
        if name not in known:
            raise InputError(f"{name!r} is none of {', '.join(known)}", field="terms")
    gpu, cpu, com = named
    try:
        return _core.Model(gpu, cpu, com, cores=cores, sms=sms, block=block, integer=k)
    except ValueError as error:
        raise InputError(str(error), field="terms") from None


def _values(model: _core.Model, parameters: Mapping[str, float]) -> Array:
    names = [name for name, _, _ in model.parameters]
    if set(parameters) != set(names):
        missing = [name for name in names if name not in parameters]
        unknown = [name for name in parameters if name not in names]
        faults = [
            f"{what}: {', '.join(which)}"
            for what, which in (("missing", missing), ("unknown", unknown))
            if which
        ]
        raise InputError(f"{'; '.join(faults)} (known: {', '.join(names)})", field="parameters")
    values = np.array([parameters[name] for name in names], dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("a value is not finite", field="parameters")
    return values
