"""A campaign of 40 cells that is interrupted ten times ends with each of them once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from command_line import start_measuring
from described_programs import described, grid, visits
from waiting import HANG, until

SIZES = [1000 * 2**power for power in range(10)]
GPUS = [1, 2, 3, 4]
FEW = SIZES[:2]


def interrupted(folder: Path, number: signal.Signals, sizes: list[int], moments: range) -> None:
    """Held in the run after so many cells, or caught as it goes; then measured to its end."""
    program = described(
        folder, ("[1000, 2000, 4000]", str(sizes)), ("gpus: [1, 2]", f"gpus: {GPUS}")
    )
    path = folder / "data.jsonl"
    gate, holding = Path(f"{path}.gate"), Path(f"{path}.holding")
    os.mkfifo(gate)
    measure = ("--program", program, "--quiet", "-o", path)
    for moment in moments:
        held = moment % 2 == 0
        where = {"TOY_DATA": str(path), "TOY_HOLD_AT": str(moment)} if held else {}
        process = start_measuring(*measure, **where)

        def reached(moment: int = moment, held: bool = held) -> bool:
            if held:
                return holding.exists()
            return path.exists() and path.read_bytes().count(b'"kind":"step"') >= moment

        until(reached, process)
        process.send_signal(number)
        process.communicate(timeout=HANG)
        assert process.returncode in (-signal.SIGKILL, 130, 0)
        holding.unlink(missing_ok=True)
        if path.exists():
            assert set(visits_of_whole(path).values()) <= {1}
    process = start_measuring(*measure)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert visits(path) == grid(sizes, GPUS)
    assert not list((folder / "data.logs").glob("*.run"))


def visits_of_whole(path: Path) -> dict[tuple[float, int, int], int]:
    """The same of a file whose last line may be cut off."""
    whole = path.with_suffix(".whole")
    whole.write_bytes(path.read_bytes().rpartition(b"\n")[0] + b"\n")
    return visits(whole) if whole.read_bytes().strip() else {}


def test_eight_cells_killed_twice(tmp_path: Path) -> None:
    interrupted(tmp_path, signal.SIGKILL, FEW, range(2, 6, 3))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_forty_cells_interrupted_at_ten_moments(tmp_path: Path, number: signal.Signals) -> None:
    interrupted(tmp_path, number, SIZES, range(1, 31, 3))
