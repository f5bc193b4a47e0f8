"""Outputs appear complete or not at all, and nothing is replaced without ``--force``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpucast.errors import InputError
from gpucast.util import files


def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    files.write_text(tmp_path / "out.txt", "größe\n")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "größe\n"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("old")
    with pytest.raises(InputError, match="exists already; --force replaces it"):
        files.write_text(file, "new")
    assert file.read_text() == "old"
    files.write_text(file, "new", force=True)
    assert file.read_text() == "new"


def test_check_output_refuses_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    files.check_output(tmp_path / "new")
    files.check_output(tmp_path / "there", force=True)
    for path in (
        tmp_path / "there",
        tmp_path,
        tmp_path / "no" / "folder",
        tmp_path / "there" / "x",
    ):
        with pytest.raises(InputError) as caught:
            files.check_output(path)
        assert caught.value.file == str(path)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.txt"
    file.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        files.write_text(file, "new", force=True)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.txt"
    sync = os.fsync

    def appears(handle: int) -> None:
        file.write_text("another program's")
        sync(handle)

    monkeypatch.setattr(os, "fsync", appears)
    with pytest.raises(InputError, match="exists already"):
        files.write_text(file, "new")
    assert file.read_text() == "another program's"


def test_permissions_follow_the_umask_or_the_replaced_file(tmp_path: Path) -> None:
    files.write_text(tmp_path / "new", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "plain").chmod(0o600)
    files.write_text(tmp_path / "plain", "y", force=True)
    assert (tmp_path / "plain").stat().st_mode & 0o777 == 0o600


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    files.write_bytes(tmp_path / "link", b"new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_device_is_written_to_directly() -> None:
    files.write_text("/dev/null", "x")


def test_long_names_fit(tmp_path: Path) -> None:
    name = "n" * 250 + ".txt"
    files.write_text(tmp_path / name, "x")
    assert os.listdir(tmp_path) == [name]
