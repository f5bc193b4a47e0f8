"""How much work something takes, counted: the same on every machine, under any load."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pytest


def python_calls(work: Callable[[], object]) -> int:
    """Calls of Python functions that some work takes, once what it imports and keeps is there."""
    work()
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


class Calls:
    """Counts calls of a module's functions from here on, by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._found: Counter[str] = Counter()

    def watch(self, owner: ModuleType | type, *names: str) -> None:
        for name in names:
            self._monkeypatch.setattr(owner, name, self._counted(name, getattr(owner, name)))

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self._found[name] += 1
            return function(*arguments, **options)

        return counted

    def of(self, work: Callable[[], object]) -> dict[str, int]:
        """What some work calls, and how often."""
        self._found.clear()
        work()
        return dict(self._found)
