"""The JSON Schema in the repository agrees with the classes."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from gpucast.data import jsonl
from gpucast.errors import InputError
from records_samples import EXAMPLES, STEP, damaged, records, relaxed

ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((ROOT / "records" / "gpucast.record.schema.json").read_text(encoding="utf-8"))
)


def accepted_by_models(value: dict[str, Any]) -> bool:
    try:
        jsonl.parse(json.dumps(value).encode() + b"\n", "data.jsonl")
    except InputError:
        return False
    return True


def test_the_file_in_the_repository_is_up_to_date() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "generate_record_schema.py"))
    committed = script["TARGET"].read_text(encoding="utf-8")
    assert committed == script["schema_text"](), "run python scripts/generate_record_schema.py"


def test_the_schema_is_valid_itself() -> None:
    jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)


@relaxed
@given(records)
def test_both_accept_valid_records(value: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(value)
    assert accepted_by_models(value)


@pytest.mark.slow
@settings(relaxed, max_examples=500)
@given(damaged())
def test_both_accept_and_reject_the_same_records(value: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(value) == accepted_by_models(value), value


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: value["kind"])
def test_both_require_every_required_field(value: dict[str, Any]) -> None:
    for field in value:
        without = {key: member for key, member in value.items() if key != field}
        assert VALIDATOR.is_valid(without) == accepted_by_models(without), field


@pytest.mark.parametrize(
    "change",
    [
        {"n": 0},
        {"n": 10**9},
        {"n": 10**9 + 1},
        {"n": 5.0},
        {"n": 5.5},
        {"gpus": 65536},
        {"gpus": 65537},
        {"path": "a\n"},
        {"path": "a\u0085b"},
        {"path": ""},
        {"seconds": [5e-324]},
        {"seconds": [10**400]},
        {"seconds": [True]},
        {"cold": None},
        {"cold": 1},
        {"block": 0},
        {"energy_drift": -1e-9},
        {"memory": "pinned"},
        {"memory": "mapped-write-combined"},
        {"graph": False},
        {"graph": 0},
        {"boundary": "periodic"},
        {"ranks": 8},
        {"workload": {"name": "w", "visits": {"factor": 40}}},
        {
            "workload": {
                "name": "w",
                "visits": {"factor": 40, "n": 1, "gpus": -0.5},
                "operations": 2,
            }
        },
        {"workload": {"name": "w", "visits": {"factor": "40"}}},
        {"workload": {"name": "w", "visits": {"factor": True}}},
        {"workload": {"name": "w", "visits": {"factor": 10**400}}},
        {"workload": {"name": "w", "visits": {"factor": 40, "n": 11}}},
        {"workload": {"name": "", "visits": {"factor": 40}}},
        {"workload": {"name": 3, "visits": {"factor": 40}}},
        {"workload": {"name": "w", "visits": {"factor": 40}, "halo": None}},
        {"workload": {"name": "w", "visits": {"factor": 40}, "more": 1}},
        {"boundary": ""},
        {"bytes": {"h2d": 0, "d2h": 0}},
        {"bytes": {"h2d": 1, "d2h": 2, "exchange": 3}},
        {"bytes": {"h2d": 1}},
        {"bytes": {"h2d": -1, "d2h": 0}},
        {"bytes": {"h2d": 0.5, "d2h": 0}},
        {"bytes": 3},
        {"phases": {"exchange": [0.0, 1e-5]}},
    ],
    ids=str,
)
def test_both_agree_on_limits(change: dict[str, Any]) -> None:
    value = {**STEP, **change}
    assert VALIDATOR.is_valid(value) == accepted_by_models(value)


@pytest.mark.parametrize(
    "moment", ["2025-01-31T12:00:00Z", "2025-01-31T12:00:00.5Z", "2025-13-01T00:00:00Z",
               "2025-01-31 12:00:00Z", "2025-01-31T12:00:00", "2025-01-31T12:00:00Z\n"]
)  # fmt: skip
def test_both_agree_on_moments(moment: str) -> None:
    value = {**EXAMPLES[0], "started": moment}
    assert VALIDATOR.is_valid(value) == accepted_by_models(value)
