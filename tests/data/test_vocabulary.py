"""Records, core and programs use the words of schema/vocabulary.toml."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any, get_args

import pytest

from gpucast import _core
from gpucast.data import jsonl, vocabulary
from gpucast.data.formats import tables
from gpucast.data.records import KINDS
from records_samples import TRANSFER

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "generate_vocabulary.py"))


@pytest.mark.parametrize("language", ["cpp", "python"])
def test_the_files_in_the_repository_are_up_to_date(script: dict[str, Any], language: str) -> None:
    committed = script[language.upper()].read_text(encoding="utf-8")
    assert committed == script[language](), "run python scripts/generate_vocabulary.py"


def test_the_core_has_the_same_routes() -> None:
    assert tuple(_core.ROUTES) == get_args(vocabulary.Route)


def test_every_kind_of_record_is_read() -> None:
    assert sorted(KINDS) == sorted(get_args(vocabulary.RecordKind))


@pytest.mark.parametrize("route", get_args(vocabulary.Route))
def test_transfers_of_every_route_are_read(route: str) -> None:
    record = json.dumps({**TRANSFER, "route": route}).encode() + b"\n"
    assert [transfer.route for transfer in jsonl.parse(record, "data.jsonl").records] == [route]
    assert route in tables.ENDS
