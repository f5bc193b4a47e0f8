"""A campaign of a real program that is interrupted again and again: is every visit there, once?

    .venv/bin/python studies/interrupted.py [--times 10] [--program docs/examples/programs/...]

Forty visits (two GPU counts, five sizes, four visits) are interrupted by SIGINT, SIGTERM and
SIGKILL, ``--times`` each, at moments drawn anew, at most ``--longest`` seconds after a start's
first run began: in the middle of a run, at its end, while records are written. Prints a line for
each signal; ends with status 1 where a visit is missing or there twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
Visit = tuple[float, int, int]
"""n, GPU count, number."""


@dataclass(frozen=True)
class Campaign:
    """What is measured.

    Attributes:
        description: of the program.
        longest: s from the begin of a start's first run to its interruption, at most.
    """

    description: Path
    n: Sequence[int]
    gpus: Sequence[int]
    visits: int
    longest: float = 2.0

    @property
    def wanted(self) -> Counter[Visit]:
        """Each visit once."""
        return Counter(product(map(float, self.n), self.gpus, range(1, self.visits + 1)))


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        interrupted: starts that the signal ended; ``over``: that had come to their end before.
        kept: visits in the file after each interruption.
        failed: starts that ended otherwise, with what they said.
        found: visits in the end.
        left: folders of runs, or processes of ours, that are still there.
    """

    interrupted: int
    over: int
    kept: list[int]
    failed: list[str]
    found: Counter[Visit]
    left: list[str]

    def is_whole(self, campaign: Campaign) -> bool:
        """Whether each visit is there once, and nothing else is left."""
        return self.found == campaign.wanted and not self.failed and not self.left


def interrupted(
    campaign: Campaign,
    number: signal.Signals,
    times: int,
    folder: Path,
    chance: random.Random,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Interrupt it so often, then let it come to its end."""
    data = folder / "data.jsonl"
    command = [
        sys.executable, "-m", "gpucast.cli", "measure", "--program", str(campaign.description),
        "-n", ",".join(map(str, campaign.n)), "--gpus", ",".join(map(str, campaign.gpus)),
        "--visits", str(campaign.visits), "--quiet", "-o", str(data),
    ]  # fmt: skip
    outcome = Outcome(0, 0, [], [], Counter(), [])
    for _ in range(times):
        process = _start(command, environment)
        _wait_for_a_run(process, data)
        time.sleep(chance.uniform(0, campaign.longest))
        process.send_signal(number)
        _, said = process.communicate()
        if process.returncode in (128 + number, -number):
            outcome.interrupted += 1
        elif process.returncode == 0:
            outcome.over += 1
        else:
            outcome.failed.append(f"status {process.returncode}: {said.strip()[-300:]}")
        outcome.kept.append(sum(found_in(data).values()))
    process = _start(command, environment)
    _, said = process.communicate()
    if process.returncode != 0:
        outcome.failed.append(f"status {process.returncode}: {said.strip()[-300:]}")
    outcome.found = found_in(data)
    outcome.left = [path.name for path in (folder / "data.logs").glob("*.run")]
    return outcome


def found_in(data: Path) -> Counter[Visit]:
    """The visits of a file, whose last line may be cut off."""
    whole = data.read_text().rpartition("\n")[0] if data.exists() else ""
    records = [json.loads(line) for line in whole.splitlines() if line]
    return Counter(
        (float(each["n"]), each["gpus"], each["visit"]["number"])
        for each in records
        if each["kind"] == "step"
    )


def _start(command: Sequence[str], environment: Mapping[str, str] | None) -> subprocess.Popen[str]:
    variables = {**os.environ, **(environment or {})}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=variables
    )


def _wait_for_a_run(process: subprocess.Popen[str], data: Path) -> None:
    """Until a first run is under way: before, there is nothing to lose."""
    logs = data.with_name("data.logs")
    before = {path: path.stat().st_mtime_ns for path in logs.glob("*.run")}
    while process.poll() is None:
        now = {path: path.stat().st_mtime_ns for path in logs.glob("*.run") if path.exists()}
        if now and now != before:
            return
        time.sleep(0.002)


def main() -> int:
    """The campaign of a description, by all three signals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=10)
    usual = ROOT / "docs" / "examples" / "programs" / "openmm" / "cpu.yaml"
    parser.add_argument("--program", type=Path, default=usual)
    parser.add_argument("--n", default="250,500,1000,1500,2000")
    parser.add_argument("--longest", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sizes = [int(each) for each in given.n.split(",")]
    campaign = Campaign(given.program, sizes, (1, 2), 4, given.longest)
    whole = True
    for number in SIGNALS:
        with tempfile.TemporaryDirectory() as folder:
            chance = random.Random(given.seed * 100 + number)
            outcome = interrupted(campaign, number, given.times, Path(folder), chance)
        whole &= outcome.is_whole(campaign)
        twice = sum(count - 1 for count in outcome.found.values())
        lost = len(campaign.wanted - outcome.found)
        print(
            f"{number.name}: {outcome.interrupted} interruptions ({outcome.over} after the end), "
            f"visits kept after each {outcome.kept}; in the end {len(outcome.found)} of "
            f"{len(campaign.wanted)}, {lost} lost, {twice} twice"
            + (f", left {outcome.left}" if outcome.left else "")
            + "".join(f"\n  {said}" for said in outcome.failed),
            flush=True,
        )
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
