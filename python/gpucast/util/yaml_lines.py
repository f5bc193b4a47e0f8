"""Reads users' YAML files: plain or typed values, and the line of each.

PyYAML's libyaml parser makes the nodes; plain scalars are interpreted as in YAML 1.2, where ``1e6``
is a number, ``no`` a word and ``1:30`` a text (PyYAML's own resolver follows 1.1).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import yaml

from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.files import PathLike, read_bytes
from gpucast.util.typed_json import Location, WrongValueError, from_json, path_of
from gpucast.util.units import parse_duration

T = TypeVar("T")

_DEEPEST = 20
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NULL = {"", "~", "null", "Null", "NULL"}
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass
class Lines:
    """The lines of values.

    Attributes:
        file: file name for messages; None if the values come from Python.
        numbers: line of each key or list item, counted from 1.
        as_written: locations where plain scalars are kept as texts.
    """

    file: str | None
    numbers: dict[Location, int] = field(default_factory=dict)
    as_written: Callable[[Location], bool] | None = None

    def line(self, location: Location) -> int:
        """Return the line of a value, or of the nearest existing value around it."""
        while location and location not in self.numbers:
            location = location[:-1]
        return self.numbers.get(location, 1)

    def error(self, message: str, location: Location) -> InputError:
        """Return an error with file, line and key."""
        line = None if self.file is None else self.line(location)
        return InputError(message, file=self.file, line=line, field=path_of(location))


def read_mapping(
    path: PathLike, what: str, needs: str, as_written: Callable[[Location], bool] | None = None
) -> tuple[dict[str, object], Lines]:
    """Return the values of a YAML file and their lines.

    Args:
        what: kind of file, for messages; ``needs``: its required keys.
        as_written: locations where plain scalars are kept as texts.

    Raises:
        InputError: it cannot be read, or is not a YAML mapping.
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


def checked(kind: type[T], values: object, lines: Lines) -> T:
    """Convert values to a dataclass (``gpucast.util.typed_json``).

    Raises:
        InputError: a value is wrong; the first one counts.
    """
    try:
        return from_json(kind, values, strict=True)
    except WrongValueError as error:
        raise lines.error(error.message, error.location) from None


def seconds(value: object) -> object:
    """Convert texts such as ``90s``, ``5m``, ``1h`` to seconds; return other values unchanged."""
    return parse_duration(value.strip()) if isinstance(value, str) else value


def parse(
    text: str, file: str, as_written: Callable[[Location], bool] | None = None
) -> tuple[object, Lines]:
    """Return the values of a YAML text and their lines; plain scalars are texts if ``as_written``.

    Raises:
        InputError: it is not YAML, has a key twice, or has excessive nesting or aliases.
    """
    lines = Lines(file, as_written=as_written)
    # libyaml makes nodes by recursion in C, with much memory: events are counted first.
    _check_shape(text, file)
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise _broken(error, file) from error
    return (None if node is None else _value(node, (), lines)), lines


def _check_shape(text: str, file: str) -> None:
    depth = values = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            values += isinstance(event, yaml.NodeEvent)
            limits.YAML_VALUES.check(values, file)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                raise InputError("is nested too deeply", file=file)
    except yaml.YAMLError as error:
        raise _broken(error, file) from error


def _broken(error: yaml.YAMLError, file: str) -> InputError:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return InputError(
        f"is no valid YAML: {' '.join(str(reason).split())}",
        file=file,
        line=None if mark is None else mark.line + 1,
    )


def _value(node: yaml.Node, location: Location, lines: Lines) -> object:
    lines.numbers.setdefault(location, _line(node))
    if len(lines.numbers) > limits.YAML_VALUES.most or len(location) > _DEEPEST:
        raise lines.error("refers to itself or repeats too much", location[:1])
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, location, lines)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*location, i), lines) for i, item in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    if lines.as_written is not None and lines.as_written(location):
        return str(node.value)
    return _scalar(node)


def _mapping(node: yaml.MappingNode, location: Location, lines: Lines) -> dict[str, object]:
    result: dict[str, object] = {}
    for key_node, value_node in node.value:
        line = _line(key_node)
        if not isinstance(key_node, yaml.ScalarNode):
            raise InputError(
                "a key must be a word", file=lines.file, line=line, field=path_of(location)
            )
        key = str(key_node.value)
        within = (*location, key)
        if key in result:
            raise InputError(
                f"occurs a second time; the first is on line {lines.numbers[within]}",
                file=lines.file,
                line=line,
                field=path_of(within),
            )
        lines.numbers[within] = line
        result[key] = _value(value_node, within, lines)
    return result


def _line(node: yaml.Node) -> int:
    return 1 if node.start_mark is None else node.start_mark.line + 1


def _scalar(node: yaml.ScalarNode) -> object:
    text = str(node.value)
    if node.style:  # quoted, or a block; the style of plain ones is "" in libyaml, None in PyYAML
        return text
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    # The length is limited because Python refuses integers of thousands of digits.
    if _INTEGER.fullmatch(text) and len(text) < 100:
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text
