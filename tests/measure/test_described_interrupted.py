"""A campaign of 40 cells that is interrupted ten times ends with one visit of each."""

import os
import signal
from pathlib import Path

import pytest

from command_line import start_measuring
from described_programs import described, grid, made, visits, visits_of_whole
from waiting import HANG, until

SIZES = [1000 * 2**power for power in range(10)]
GPUS = [1, 2, 3, 4]
FEW = SIZES[:2]


def interrupted(folder: Path, number: signal.Signals, sizes: list[int], times: int) -> None:
    """Stopped in its second run, or after its first, in turns; then measured to its end."""
    program = described(
        folder, ("[1000, 2000, 4000]", str(sizes)), ("gpus: [1, 2]", f"gpus: {GPUS}")
    )
    path = folder / "data.jsonl"
    gate, holding = Path(f"{path}.gate"), Path(f"{path}.holding")
    os.mkfifo(gate)
    measure = ("--program", program, "--quiet", "-o", path)
    for time in range(times):
        held, before = time % 2 == 1, made(path)
        where = {"TOY_DATA": str(path), "TOY_HOLD_AT": str(before + 2)} if held else {}
        process = start_measuring(*measure, **where)

        def reached(held: bool = held, before: int = before) -> bool:
            return holding.exists() if held else made(path) > before

        until(reached, process)
        process.send_signal(number)
        process.communicate(timeout=HANG)
        # 0 and the signal itself: the campaign had come to its end, or was leaving.
        assert process.returncode in (128 + number, -number, 0)
        holding.unlink(missing_ok=True)
        if path.exists():
            assert set(visits_of_whole(path).values()) <= {1}
    process = start_measuring(*measure)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert visits(path) == grid(sizes, GPUS)
    assert not list((folder / "data.logs").glob("*.run"))


def test_eight_cells_killed_twice(tmp_path: Path) -> None:
    interrupted(tmp_path, signal.SIGKILL, FEW, times=2)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_forty_cells_interrupted_at_ten_moments(tmp_path: Path, number: signal.Signals) -> None:
    interrupted(tmp_path, number, SIZES, times=10)
