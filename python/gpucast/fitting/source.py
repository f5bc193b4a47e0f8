"""The model that somebody means who names a model file, or step times."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gpucast.data.dataset import Dataset
from gpucast.data.loading import Source
from gpucast.data.selection import ANY, StepSelection
from gpucast.model.files import is_model, load_model
from gpucast.model.fitted import Model
from gpucast.util.files import read_bytes


def model_of(
    source: Model | Dataset | Source, selection: StepSelection = ANY
) -> tuple[Model, str | None]:
    """The model, fitted where the source is step times; the SHA-256 of a table's file.

    Args:
        selection: of step times, where there are several kinds.

    Raises:
        InputError: neither a model nor step times.
    """
    if isinstance(source, Model):
        return source, None
    if isinstance(source, str | os.PathLike) and is_model(source):
        return load_model(source), None
    from gpucast.fitting.fit import fit

    model, sha256 = fit(source, selection), None
    if isinstance(source, str | os.PathLike) and Path(source).is_file():
        sha256 = hashlib.sha256(read_bytes(source)).hexdigest()
    return model, sha256
