"""Users' YAML files, checked against a pydantic model: what is wrong names file, line and key."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from gpucast.errors import InputError
from gpucast.util import units
from gpucast.util.files import PathLike, read_bytes
from gpucast.util.validation_errors import message_of
from gpucast.util.yaml_lines import Lines, Location, parse

M = TypeVar("M", bound=BaseModel)


def read_mapping(
    path: PathLike, what: str, needs: str, as_written: Callable[[Location], bool] | None = None
) -> tuple[dict[str, object], Lines]:
    """The values of a YAML file, and where they stand.

    Args:
        what: what it should be, for messages; ``needs``: its keys that must be there.
        as_written: where plain scalars are texts, whatever they look like.

    Raises:
        InputError: it cannot be read, or is no YAML with keys.
    """
    name = os.fspath(path)
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError("is no UTF-8 text", file=name, line=line) from error
    values, lines = parse(text, name, as_written)
    if not isinstance(values, dict):
        raise InputError(f"holds no {what}: it needs the keys {needs}", file=name)
    return values, lines


def checked(model: type[M], values: object, lines: Lines) -> M:
    """The values as the model has them.

    Raises:
        InputError: the first thing that is wrong; of an unknown key, the one that was meant.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        _complain(error, model, lines)


def seconds(value: object) -> object:
    """``90s``, ``5m``, ``1h`` as seconds; what is no text stays as it is. For pydantic."""
    if not isinstance(value, str):
        return value
    try:
        return units.parse_duration(value.strip())
    except InputError as error:
        raise ValueError(error.message) from None


def whole(value: object) -> object:
    """1e6 is a float to YAML and a whole number to people. For pydantic."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def near(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: what was meant, or what there is."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"


def _complain(error: ValidationError, model: type[BaseModel], lines: Lines) -> NoReturn:
    details = error.errors(include_url=False)
    # A misspelt key is missing under its right name, too: say what was written.
    detail = next((detail for detail in details if detail["type"] == "extra_forbidden"), details[0])
    location: Location = tuple(detail["loc"])
    message = message_of(detail)
    if detail["type"] == "extra_forbidden":
        message = f"unknown key{near(str(location[-1]), _keys_at(model, location[:-1]))}"
    elif detail["type"] == "value_error":
        message = str(detail["ctx"]["error"])
    elif detail["type"] == "too_short":
        message = f"needs at least {detail['ctx']['min_length']} entries"
    raise lines.error(message, location) from None


def _keys_at(model: type[BaseModel], location: Location) -> list[str]:
    for part in location:
        if isinstance(part, str):
            within = _model_in(model.model_fields[part].annotation)
            assert within is not None  # only models forbid keys
            model = within
    return [known.alias or name for name, known in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model in ``list[Model]``, ``Model | None`` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = (_model_in(part) for part in get_args(annotation))
    return next((model for model in models if model is not None), None)
