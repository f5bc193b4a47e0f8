"""Steps of copies that wait for a kernel: found in the bundled medians, and in made ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import copy_waits
import gpucast as gc

BUNDLED = Path(__file__).parents[2] / "data" / "measured" / "h200-copy-waits.csv"


def test_a_staircase_is_found_in_noise() -> None:
    rng = np.random.default_rng(1)
    x = np.arange(0.5, 40.0, 0.5)
    seconds = 10.0 + 6.5 * np.ceil((x - 2.0) / 6.5) + rng.normal(0.0, 0.2, x.size)
    found = copy_waits.staircase(x, seconds)
    assert found.q == pytest.approx(6.5, abs=0.05)
    assert found.x_0 == pytest.approx(2.0, abs=0.4)
    assert found.misfit < 0.3 < 1.0 < copy_waits.line_misfit(x, seconds)[1]


def test_copies_wait_in_steps_of_a_tick_and_synchronization_does_not() -> None:
    measured = copy_waits.read(BUNDLED)
    assert list(measured) == ["sync", "blocking", "pause-blocking", "queued"]
    off = {what: copy_waits.line_misfit(*found)[1] for what, found in measured.items()}
    stairs = {what: copy_waits.staircase(*found) for what, found in measured.items()}
    assert off.pop("sync") < stairs.pop("sync").misfit
    for what, found in stairs.items():
        assert found.q == pytest.approx(8.192, abs=0.05)
        assert found.misfit < off[what] / 3
    # Counted from when the copy began to wait: 4 us later, 4 us later.
    shift = stairs["pause-blocking"].x_0 - stairs["blocking"].x_0
    assert shift == pytest.approx(4.0, abs=0.5)


def test_it_prints_a_line_a_way_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "waits.png"
    assert copy_waits.main([str(BUNDLED), "-o", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(copy_waits.read(BUNDLED))
    assert lines[2].split()[1] == "-"
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "what,kernel_us,median_us\nsync,1\n", ""])
def test_another_file_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "file.csv"
    path.write_text(content)
    assert copy_waits.main([str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"copy_waits.py: {path}: ")
    assert len(shown.err.splitlines()) == 1


def test_it_is_no_dataset() -> None:
    assert "h200-copy-waits" not in gc.bundled_files()
