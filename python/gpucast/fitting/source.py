"""The model that somebody means who names a model file, or step times."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gpucast.data.dataset import Dataset
from gpucast.data.loading import Source, load
from gpucast.data.selection import ANY, StepSelection
from gpucast.errors import InputError
from gpucast.model.files import is_model, load_model
from gpucast.model.fitted import Model
from gpucast.util.files import read_bytes


def model_of(
    source: Model | Dataset | Source,
    selection: StepSelection = ANY,
    gpus_per_node: int | None = None,
) -> tuple[Model, str | None]:
    """The model, fitted where the source is step times; the SHA-256 of a table's file.

    Args:
        selection: of step times, where there are several kinds.
        gpus_per_node: GPUs of a node, of a table that has nodes alone.

    Raises:
        InputError: neither a model nor step times.
    """
    if isinstance(source, Model):
        return source, None
    from gpucast.fitting.fit import fit

    if not isinstance(source, str | os.PathLike):
        return fit(source, selection), None
    if is_model(source):
        return load_model(source), None
    try:
        model = fit(source, selection)
    except InputError:
        if gpus_per_node is None:
            raise
        model = fit(load(source, gpus_per_node=gpus_per_node), selection)
    is_file = Path(source).is_file()
    return model, hashlib.sha256(read_bytes(source)).hexdigest() if is_file else None
