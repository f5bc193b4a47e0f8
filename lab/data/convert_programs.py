"""Turn the tables in programs/source into the bundled datasets in programs.

All tables have the columns program, case, machine, n, gpus, seconds and notes. The other fields of
a record (the meaning of n, nodes, ranks, the simulated time of a step, rounding) come from the
notes or from datasets.toml in the same folder. Run after any change: python
lab/data/convert_programs.py
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpucast.data import jsonl

FOLDER = Path(__file__).parents[2] / "data" / "programs"

Fields = dict[str, object]
About = Mapping[str, Any]
"""A dataset's or a machine's entry in datasets.toml."""

_OURS = ("column", "gpus_per_node")
"""Fields of a machine's entry that describe the table and are not in the machine's record."""


def datasets() -> dict[str, str]:
    """The content of every dataset's file, by name."""
    known = tomllib.loads((FOLDER / "source" / "datasets.toml").read_text(encoding="utf-8"))
    return {name: jsonl.to_text(map(jsonl.record, _records(name, about)))
            for name, about in known.items()}  # fmt: skip


def _records(name: str, about: About) -> Iterator[Fields]:
    for machine in about["machines"]:
        yield {"kind": "machine", **{k: v for k, v in machine.items() if k not in _OURS}}
    yield {"kind": "note", "text": about["title"], "about": {"title": about["title"]}}
    for row in rows(name):
        yield _step(row, about)


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a dataset's table."""
    with (FOLDER / "source" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _step(row: Mapping[str, str], about: About) -> Fields:
    machine = _machine_of(row, about["machines"])
    gpus = int(row["gpus"])
    fields: Fields = {
        "kind": "step", "machine": machine["id"], "path": "native",
        "program": _program(row["program"]), "case": _case(row["case"], about),
        "n": float(row["n"]), "unit": about["unit"], "gpus": gpus,
        "nodes": _nodes(gpus, machine), "ranks": _ranks(row["notes"]),
        "timestep": _timestep(row), "seconds": [float(row["seconds"])],
        "uncertainty": _rounding(row["notes"], about),
    }  # fmt: skip
    return {field: value for field, value in fields.items() if value is not None}


def _machine_of(row: Mapping[str, str], machines: Sequence[About]) -> About:
    # Several tables put the GPU count into the machine's name: only its beginning is compared.
    return next(known for known in machines if row["machine"].startswith(known["column"]))


def _program(text: str) -> str:
    """Name and version, without build options, which the caveats give."""
    return re.split(r" \(|, ", text)[0]


def _case(text: str, about: About) -> str:
    """The settings under which times are comparable, without words that only name the size."""
    return ", ".join(re.findall(about["setting"], text)) if "setting" in about else text


def _nodes(gpus: int, machine: About) -> int | None:
    per_node = machine.get("gpus_per_node")
    return per_node and -(-gpus // per_node)


def _ranks(notes: str) -> int | None:
    stated = re.search(r"([0-9]+) (?:MPI )?ranks", notes)
    return int(stated[1]) if stated else None


def _timestep(row: Mapping[str, str]) -> float | None:
    stated = re.search(r"dt ([0-9.]+) fs", row["case"])
    return float(f"{stated[1]}e-15") if stated else None


def _rounding(notes: str, about: About) -> float | None:
    """Half of the last printed digit of the published figure, relative to it."""
    printed = re.search(about["printed"], notes) if "printed" in about else None
    if printed is None:
        return None
    decimals = len(printed[1].partition(".")[2])
    # Not 0.5 * 10**-decimals: the quotient of two exact decimals is rounded once.
    return 5 / (float(printed[1]) * 10.0 ** (decimals + 1))


if __name__ == "__main__":
    for name, content in datasets().items():
        (FOLDER / f"{name}.jsonl").write_text(content, encoding="utf-8", newline="\n")
