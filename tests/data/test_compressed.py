"""Bundled datasets are installed compressed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import gpucast.data as bundled
from gpucast.data import jsonl
from gpucast.data.loading import load
from gpucast.errors import InputError
from gpucast.util import limits
from made_data import whole


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    whole().dump(tmp_path / "mine.jsonl")
    return tmp_path / "mine.jsonl"


def compressed(plain: Path) -> Path:
    file = plain.with_name("mine.jsonl.gz")
    file.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    return file


def test_compressed_records_are_those_that_were_compressed(plain: Path) -> None:
    assert jsonl.read(compressed(plain)) == jsonl.read(plain)


def test_a_file_that_the_user_compressed_is_loaded(plain: Path) -> None:
    assert load(compressed(plain)).digest == load(plain).digest


def test_a_compressed_dataset_has_the_name_and_the_digest_of_the_plain_one(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plain.parent / "bundled" / "measured"
    folder.mkdir(parents=True)
    compressed(plain).rename(folder / "made-up.jsonl.gz")
    monkeypatch.setattr(bundled, "data_folders", lambda: [folder.parent])
    assert list(bundled.bundled_files()) == ["made-up"]
    assert load("made-up").digest == load(plain).digest


def test_a_compressed_file_cut_off_anywhere_is_refused(plain: Path) -> None:
    file = compressed(plain)
    content = file.read_bytes()
    for length in (1, 10, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"mine\.jsonl\.gz: is not a complete gzip file"):
            jsonl.read(file)


def test_a_compressed_file_that_holds_too_much_is_refused(
    plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INPUT", limits.Limit(0, "bytes"))
    with pytest.raises(InputError, match="is larger than 0 MiB"):
        jsonl.read(compressed(plain))
