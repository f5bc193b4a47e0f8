"""The C++ library's output agrees with the schema and the classes here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpucast.data import jsonl
from gpucast.data.records import Machine, Note, Step
from waiting import HANG

ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((ROOT / "records" / "gpucast.record.schema.json").read_text(encoding="utf-8"))
)
KINDS = ["machine", "transfer", "launch", "step", "overlap", "skeleton", "host_memory", "note"]


@pytest.fixture(scope="module")
def written() -> bytes:
    """A record of every kind with every field set, from the newest build that has the program."""
    programs = sorted(
        ROOT.glob("build/*/records/records_sample"), key=lambda path: path.stat().st_mtime
    )
    if not programs:
        pytest.skip("no build/*/records/records_sample: build with -DGPUCAST_TESTS=ON")
    return subprocess.run([programs[-1]], capture_output=True, check=True, timeout=HANG).stdout


def stated(record: object) -> set[str]:
    return {name for name, value in vars(record).items() if value is not None}


def objects(written: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


def test_every_kind_is_written(written: bytes) -> None:
    assert [value["kind"] for value in objects(written)] == KINDS


def test_the_schema_accepts_every_line(written: bytes) -> None:
    for value in objects(written):
        assert not [error.message for error in VALIDATOR.iter_errors(value)], value["kind"]


def test_the_models_read_every_line_and_lose_nothing(written: bytes) -> None:
    read = jsonl.parse(written, "records_sample")
    assert read.warnings == []
    assert [jsonl.to_object(record) for record in read.records] == objects(written)


def test_schema_and_kind_stand_first(written: bytes) -> None:
    for line, kind in zip(written.splitlines(), KINDS, strict=True):
        assert line.startswith(f'{{"schema":"gpucast.record/1","kind":"{kind}",'.encode())


def test_integers_are_integers_and_doubles_are_exact(written: bytes) -> None:
    transfer = objects(written)[1]
    assert type(transfer["bytes"]) is int
    assert transfer["seconds"] == [0.1, 1 / 3, 5e-324]


OTHER_PROGRAMS = {
    *("at_once", "busy", "case", "instances", "mps", "nodes", "program", "ranks", "timestep"),
    *("unit", "visit", "workload"),
}
"""Fields of other programs' steps; ours are all-pairs with a rank per GPU."""
OF_OTHER_LAYERS = {"answered", "inline_bytes"}
"""Fields of remote GPUs whose layer is not today's or not ours."""
OF_ENERGY = {"joules", "joules_uncertainty"}
"""Fields that Python reads while a program runs."""
OF_OTHER_SOURCES = {"caveats", "cold", "run_to_run", "source", "uncertainty"}
"""Fields of figures that others measured, or of several runs."""
OF_TRACES = {"calls"}
"""Phases that only traces have."""


def test_no_field_of_the_models_is_unknown_to_the_library(written: bytes) -> None:
    """A field that is added here must be added there if our programs can state it."""
    for record in jsonl.parse(written, "records_sample").records:
        fields = set(vars(record)) - OTHER_PROGRAMS - OF_OTHER_LAYERS - OF_ENERGY - OF_OTHER_SOURCES
        missing = fields - stated(record)
        assert not missing, (record.kind, missing)
        if isinstance(record, Step):
            for part in (record.phases, record.bytes):
                assert part is not None
                assert set(vars(part)) - OF_TRACES == stated(part)
        if isinstance(record, Machine):
            assert record.gpus is not None
            assert set(vars(record.gpus[0])) == stated(record.gpus[0])
        if isinstance(record, Note):
            assert record.about == {"n": 1000, "gpus": 8, "reason": None}
