"""Results of ``studies.design_against_grid`` that are kept from one run to the next.

A line of JSON a group. A result counts as long as the sources that make it are the same: those of
the design, of fits and of the study. What a run that was killed left half is passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    "fit", "model", "python/gpucast/data/thinning.py", "python/gpucast/design",
    "python/gpucast/fitting", "python/gpucast/measure/described/costs.py",
    "python/gpucast/measure/rounds.py", "python/gpucast/measure/until.py", "python/gpucast/model",
    "studies/design_against_grid.py",
)  # fmt: skip
_ENDINGS = (".cpp", ".h", ".py")


def sources(root: Path = ROOT, names: tuple[str, ...] = SOURCES) -> str:
    """A digest of what makes results."""
    digest = hashlib.sha256()
    for path in sorted(path for name in names for path in _files(root / name)):
        digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    found = [path] if path.is_file() else path.rglob("*")
    return [each for each in found if each.suffix in _ENDINGS and each.is_file()]


class Kept:
    """Results by what they are of."""

    def __init__(self, path: Path | None, made_by: Mapping[str, object]) -> None:
        """``path``: None: nothing is kept; ``made_by``: sources and settings, which must agree."""
        self._path = path
        self._made_by = dict(made_by)
        self._found: dict[tuple[object, ...], dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._read(line)

    def get(self, *key: object) -> dict[str, Any] | None:
        """The fields of a result; None: not made yet, or by other sources."""
        return self._found.get(key)

    def add(self, result: Any, *key: object) -> None:
        """Keep a result, which is a dataclass."""
        self._found[key] = asdict(result)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            line = {"key": list(key), "made_by": self._made_by, "result": asdict(result)}
            # On a line of its own, whatever was there: a killed run may have left half a line.
            with self._path.open("a+b") as stream:
                stream.seek(0, 2)
                if stream.tell():
                    stream.seek(-1, 2)
                    if stream.read(1) != b"\n":
                        stream.write(b"\n")
                stream.write(json.dumps(line).encode() + b"\n")

    def _read(self, line: str) -> None:
        try:
            found = json.loads(line)
        except ValueError:  # half of one
            return
        if found["made_by"] == self._made_by:
            self._found[tuple(found["key"])] = found["result"]
