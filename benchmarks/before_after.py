"""Is one commit as fast as another? Processor seconds of both, side by side, run by run in turn.

    .venv/bin/python benchmarks/before_after.py BEFORE AFTER [--runs 21] [--only WORD]

BEFORE and AFTER: Python interpreters, each of an environment that a commit is installed in, or
folders to import ``gpucast`` from, its compiled part inside. Every run is a process of its own.
What is counted is processor time (all threads, user and system), of which a busy machine takes
little more than an idle one; the ratio of the least of all runs says most, the ratio of medians
whether to believe it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from gpucast.util.tables import print_table

# A fit of measured steps; `more` narrows it.
FIT = "gpucast.fit(data, path='native', schedule='star-async', kernel='tuned'{more})"
FORM = ", model='work+linear+star-async'"

TIMED = """
import time
{setup}
begin = time.process_time()
{work}
print(time.process_time() - begin)
"""

STEPS = "import gpucast; data = gpucast.load('h200-x2')"

MODEL = "model.json"  # of the side that reads it: made before anything is timed


@dataclass(frozen=True)
class Work:
    """What is timed: Python code, after a setup that is not counted, or a command of the shell."""

    what: str
    code: str = ""
    setup: str = ""
    command: tuple[str, ...] = ()


WORKS = [
    Work("import gpucast", "import gpucast"),
    Work("import of gpucast.fit", "import gpucast; gpucast.fit"),
    Work("fit, form chosen", FIT.format(more=""), STEPS),
    Work("fit of one form", FIT.format(more=FORM), STEPS),
    Work("fit of published steps", "gpucast.fit(data, path='infiniband')",
         "import gpucast; data = gpucast.load('dscuda')"),
    Work("50,000 forecasts with intervals", "model.forecasts(n, gpus)",
         f"import gpucast, numpy; model = gpucast.load_model('{MODEL}')\n"
         "n = numpy.repeat(numpy.geomspace(1e3, 1e6, 6250).round(), 8)\n"
         "gpus = numpy.tile(numpy.arange(1.0, 9.0), 6250)"),
    Work("gpucast predict, from the shell", command=(
         "predict", MODEL, "-n", "1000,1e5", "--gpus", "1-8")),
]  # fmt: skip


@dataclass
class Side:
    """One of the two, and the seconds that each work was seen to take."""

    where: Path
    folder: Path
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def run(self, *arguments: str) -> tuple[str, float]:
        """What Python printed, and its processor seconds."""
        environment = dict(os.environ)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
        interpreter = self.where
        if self.where.is_dir():
            environment["PYTHONPATH"] = str(self.where)
            interpreter = Path(sys.executable)
        with subprocess.Popen(
            [interpreter, *arguments],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            printed = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{self.where}: failed: {' '.join(arguments)}")
        return printed, used.ru_utime + used.ru_stime

    def time(self, work: Work) -> None:
        if work.command:
            _, seconds = self.run("-m", "gpucast.cli", *work.command)
        else:
            printed, _ = self.run("-c", TIMED.format(setup=work.setup, work=work.code))
            seconds = float(printed.split()[-1])
        self.seconds.setdefault(work.what, []).append(seconds)


def compared(before: Side, after: Side, what: str) -> list[str]:
    """A line of the table."""
    old, new = before.seconds[what], after.seconds[what]
    return [
        what,
        f"{min(old):.4f}",
        f"{min(new):.4f}",
        f"{min(new) / min(old):.3f}",
        f"{statistics.median(new) / statistics.median(old):.3f}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=lambda text: Path(text).absolute())
    parser.add_argument("after", type=lambda text: Path(text).absolute())
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--only", default="", help="works whose name has this word")
    given = parser.parse_args()
    works = [work for work in WORKS if given.only in work.what]
    with tempfile.TemporaryDirectory() as name:
        sides = [Side(given.before, Path(name) / "before"), Side(given.after, Path(name) / "after")]
        for side in sides:
            side.folder.mkdir()
            side.run("-c", f"{STEPS}\n{FIT.format(more=FORM)}.save('{MODEL}')")
        for run in range(given.runs):
            for work in works:
                for side in sides if run % 2 else reversed(sides):
                    side.time(work)
        print_table(
            ["what", "before (s)", "after (s)", "least", "median"],
            [compared(*sides, work.what) for work in works],
            "lrrrr",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
