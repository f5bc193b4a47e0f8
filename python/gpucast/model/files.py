"""Reads model files (``gpucast.model/1``)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gpucast.data import reconstructed_files
from gpucast.data.selection import usual
from gpucast.data.traces.reading import is_trace
from gpucast.errors import InputError, from_os_error
from gpucast.model.content import Bootstrap
from gpucast.model.fitted import SCHEMA, Model
from gpucast.util import limits
from gpucast.util.files import read_bytes
from gpucast.util.remarks import Kind, remarks_of
from gpucast.util.typed_json import WrongValueError, from_json, to_json

_MAKES_ONE = "gpucast fit DATA -o MODEL.json makes one"


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model, by its first bytes, or by its ending if it cannot be read
    or is damaged."""
    name = os.fspath(path)
    if name in reconstructed_files():
        return True
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(4096)
    except OSError:
        return name.endswith(".json")
    return b'"gpucast.model/' in head or (
        name.endswith(".json") and b'"gpucast.record/' not in head
    )


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file, or a bundled reconstruction by its name (``gpucast data list``).

    Raises:
        InputError: the file cannot be read, is not a model file, or has another version.
    """
    name = os.fspath(path)
    if Path(path).exists() and is_trace(path):
        raise InputError(
            "is a trace, not a model: gpucast fit makes one from traces of several sizes; "
            "gpucast what-if forecasts one trace on another path",
            file=name,
        )
    try:
        file = read_bytes(_file_of(path))
        limits.check_json(file, name)
        text = file.decode("utf-8")
        content = json.loads(text, parse_constant=_refuse_constant)
    except OSError as error:
        raise from_os_error(error, path) from error
    except UnicodeDecodeError as error:
        raise InputError("is not a model file: it is not UTF-8 text", file=name) from error
    except json.JSONDecodeError as error:
        _refuse_data(text, name)
        raise InputError(
            f"is no model file: no JSON ({error.msg}); {_MAKES_ONE}", file=name, line=error.lineno
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no model file: {error}", file=name) from error
    _refuse_data(text, name)
    if not isinstance(content, dict) or "schema" not in content:
        raise InputError(f"is no model file; {_MAKES_ONE}", file=name)
    if content["schema"] != SCHEMA:
        raise InputError(
            f"is {content['schema']!r:.40}; this version reads {SCHEMA!r}",
            file=name,
            field="schema",
        )
    try:
        content = with_remarks(content)
        model = _scaling(content) if "scaling" in content else _own(content)
        _ = model.engine  # checks that the values are consistent
        _ = model.energy
    except InputError as error:
        raise InputError(error.message, file=name, field=error.field) from error
    except WrongValueError as error:
        raise InputError(
            f"{error.message}; the model file is damaged", file=name, field=error.field
        ) from error
    except (ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"is a damaged model file: {reason}", file=name) from error
    model.name = Path(name).stem
    return model


def _refuse_data(text: str, name: str) -> None:
    # The likeliest mistake is to give the data instead of the model.
    if '"gpucast.record/' in text[:4096]:
        raise InputError(f"holds records, not a model; {_MAKES_ONE}", file=name)


def _scaling(content: dict[str, object]) -> Model:
    return from_json(Model, {key: given for key, given in content.items() if key != "model"})


def _own(content: dict[str, object]) -> Model:
    content = renewed(content)
    for key in ("model", "k", "breakpoints", "combinations"):
        if key not in content:
            raise WrongValueError("missing", (key,))
    drawn = from_json(Bootstrap, content).bootstrap
    model = from_json(Model, content)
    model.replicates = np.array(drawn.values, dtype=np.float64).reshape(
        len(drawn.integers), len(drawn.parameters)
    )
    model.integers = drawn.integers
    _check_names(model, drawn.parameters)
    return model


def _file_of(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.exists() or not isinstance(path, str):
        return file
    return reconstructed_files().get(path, file)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _check_names(model: Model, replicate_names: list[str]) -> None:
    names = [name for name, _, _ in model.core.parameters]
    missing = [name for name in names if name not in model.parameters]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    if replicate_names != names:
        raise ValueError("its replicates are of other parameters")


# Converts model files of version 0.1.0 to the current content.
#
# Warnings were texts alone. Whether threads sleep on a what-if's path was
# derived from its name, and the time of its skeletons did not depend on how long GPUs were busy.
# Piecewise linear terms were removed.

_GONE = {"residency": "occupancy", "pairs": "work", "cached": "bent"}
"""Terms that no longer exist, and the terms that replace them."""


@dataclass
class _Warnings:
    warnings: list[str]


def with_remarks(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a model file with remarks, for which older files only have texts.

    Raises:
        WrongValueError: the texts are not a list of strings.
    """
    texts = from_json(_Warnings, content).warnings
    return {"remarks": to_json(remarks_of(Kind.UNSORTED, texts)), **content}


def renewed(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a model file in its current form.

    Content that is damaged, or needs nothing, is returned as it is.

    Raises:
        InputError: a term of the model no longer exists.
    """
    terms = content.get("model")
    for part, term in terms.items() if isinstance(terms, dict) else ():
        if isinstance(term, str) and term in _GONE:
            raise InputError(
                f"the term {term!r} is gone ({_GONE[term]!r} describes the same); fit the data "
                "again",
                field=f"model.{part}",
            )
    return _with_waits(_with_sleep(content))


def _with_sleep(content: dict[str, Any]) -> dict[str, Any]:
    known, data = content.get("other_path"), content.get("data")
    source = data.get("what_if") if isinstance(data, dict) else None
    if not (isinstance(known, dict) and isinstance(source, dict)) or "sleeps" in known:
        return content
    sleeps = bool(usual(source.get("path")).forwarded)
    return {**content, "other_path": {**known, "sleeps": sleeps}}


def _with_waits(content: dict[str, Any]) -> dict[str, Any]:
    """Add equal waits if skeletons have none."""
    known = content.get("other_path")
    if not (isinstance(known, dict) and isinstance(known.get("n"), list)):
        return content
    return {**content, "other_path": {"wait": [1.0] * len(known["n"]), **known}}
