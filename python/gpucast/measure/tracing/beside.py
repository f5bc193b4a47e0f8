"""Recording a run that somebody else starts and waits for, as a campaign does."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpucast.errors import GpucastError
from gpucast.measure.tracing import libraries
from gpucast.measure.tracing.description import describe, ended
from gpucast.measure.tracing.recording import (
    ENOUGH,
    LOOK_EVERY,
    Enough,
    Limits,
    Patience,
    Recorded,
    archive,
    summary,
    variables_of,
    why_nothing,
    write_json,
)


class NothingRecordedError(GpucastError):
    """The run came to its end, and no process of it is on record."""


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
        command: of the run, for the trace's description.
        output: the trace; an existing one is replaced, and what a recording that was cut off left.

    Raises:
        NothingRecordedError: why.
        GpucastError: gpucast was built without the recorder.
    """
    library, cupti = libraries.recorder(), libraries.cupti()
    folder = output.with_name(output.name + ".part").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    about = describe(command, time.time())
    write_json(folder / "run.json", about)
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(folder, enough, over), daemon=True)
    looking.start()
    try:
        try:
            run(variables_of(folder, library, cupti, limits))
        finally:
            over.set()
            looking.join()
        about |= {"seconds": time.time() - about["started"], "exit": ended(0)}
        write_json(folder / "run.json", about)
        recorded = summary(folder, 0)
        if not recorded.processes:
            raise NothingRecordedError(why_nothing(recorded))
        archive(folder, output, force=True)
        return recorded
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(folder: Path, enough: Enough, over: threading.Event) -> None:
    """Tells the recorder when there is enough."""
    patience = Patience()
    while not over.wait(LOOK_EVERY):
        if patience.is_due(summary(folder, 0).size) and enough(folder):
            (folder / ENOUGH).touch()
            return
