"""Runs a traced program a second time, in which only the call that ends a step is recorded.

Recording slows steps of many launches down, in later phases even those in which only calls are
recorded. When CUPTI observes a single function, the others run at full speed, so the second run
gives the native step time.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpucast.measure.tracing import recording
from gpucast.measure.tracing.recording import Limits, Watcher

if TYPE_CHECKING:
    from gpucast.measure.tracing.markers import Marker

LONGEST = 60.0
"""Longest run (s) that is made again."""


class SecondRun:
    """Runs a program again after recording, if it took at most ``LONGEST``, and adds the step time
    to the recording's ``run.json``.

    Attributes:
        seconds: step time (s); None if not known.
        problem: why a second run gave no step time.
    """

    def __init__(
        self, program: Sequence[str], limits: Limits, watcher: Watcher, range_name: str | None
    ) -> None:
        self._program, self._watcher, self._range = program, watcher, range_name
        self._limits = replace(limits, phase=0.0)
        self._has_input, self._offset = _standard_input()
        self.seconds: float | None = None
        self.problem: str | None = None

    def __call__(self, folder: Path) -> None:
        """Make the second run for a recording's folder."""
        from gpucast.measure.tracing import markers  # reads tables, which takes a second to load

        about = json.loads((folder / "run.json").read_text())
        if not self._has_input or about["seconds"] > LONGEST:
            return
        marker = markers.marker_in(folder, self._range)
        if marker is None:
            return
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            status = self._run(scratch, marker)
            if status == 0:
                recording.write_json(scratch / "run.json", about)
                self.seconds = markers.seconds_in(scratch, marker)
        if self.seconds is not None:
            recording.write_json(folder / "run.json", about | {"seconds_untraced": self.seconds})
            return
        how = f"called {marker.name} too seldom to tell steps apart"
        if status:
            how = f"ended with status {status}" if status > 0 else f"ended by signal {-status}"
        self.problem = f"the second run, for the time of a step without recording, {how}"

    def _run(self, scratch: Path, marker: Marker) -> int:
        variables = recording.variables_of(scratch, self._limits) | {
            "GPUCAST_TRACE_ONLY": marker.name,
            "GPUCAST_TRACE_BEGIN": "light",
        }
        if self._offset is not None:
            os.lseek(sys.stdin.fileno(), self._offset, os.SEEK_SET)
        return recording.run_program(
            self._program, variables, scratch, self._watcher,
            stdin=subprocess.DEVNULL if self._offset is None else None,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _standard_input() -> tuple[bool, int | None]:
    """Return whether a second run can get the same standard input, and from which offset (None:
    there is nothing to read, as on a terminal)."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISREG(mode):
            return True, os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR)
    except (OSError, ValueError, AttributeError):
        return True, None
    return not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)), None
