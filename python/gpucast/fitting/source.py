"""Loads or fits the model that a model file or step times stand for."""

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
    """Return the model, which is fitted if the source is step times, and a table file's SHA-256.

    Args:
        selection: chooses step times if there are several kinds.
        gpus_per_node: GPUs of a node, for a table that states only nodes.

    Raises:
        InputError: the source is neither a model nor step times.
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
