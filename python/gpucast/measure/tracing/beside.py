"""Recording a run that somebody else starts and waits for, as a campaign does."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpucast.measure.tracing.recording import (
    ENOUGH,
    LOOK_EVERY,
    Enough,
    Limits,
    Patience,
    Recorded,
    archived,
    folder_of,
    into,
    summary,
    variables_of,
)


def record_beside(
    run: Callable[[Mapping[str, str]], object],
    command: Sequence[str],
    output: Path,
    limits: Limits,
    enough: Enough,
) -> Recorded:
    """Record a run as ``recording.record`` does.

    Args:
        run: makes it, to its end, with these variables beside its own; raises where it failed.
        command: that is run, for the trace's description.
        output: the trace; an existing one is replaced, and what a recording that was cut off left.

    Raises:
        NothingRecordedError: no process of the run is on record; why.
        GpucastError: gpucast was built without the recorder.
    """
    folder = folder_of(output)
    variables = variables_of(folder, limits)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(folder, enough, over), daemon=True)

    def watched() -> int:
        looking.start()
        try:
            run(variables)
        finally:
            over.set()
            looking.join()
        return 0

    try:
        into(folder, command, watched)
        return archived(folder, output, 0, force=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(folder: Path, enough: Enough, over: threading.Event) -> None:
    """Tell the recorder when there is enough."""
    patience = Patience()
    while not over.wait(LOOK_EVERY):
        if patience.is_due(summary(folder, 0).size) and enough(folder):
            (folder / ENOUGH).touch()
            return
