"""Running ``gpucast`` as a user does: in a process of its own, with a real exit status."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpucast
from waiting import start_held

Run = Callable[..., tuple[int, str, str]]
"""A command line run in this process: status, stdout, stderr (the fixture ``run``)."""


def python(
    *arguments: str | Path, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """``python ARGUMENTS``, which imports this gpucast, in a process of its own."""
    ours = {"PYTHONPATH": str(Path(gpucast.__file__).parents[1]), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **ours, **environment},
        check=False,
    )


def shell(*arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``gpucast ARGUMENTS`` in a process of its own."""
    return python("-m", "gpucast.cli", *arguments, folder=folder)


def executable(path: Path, text: str) -> Path:
    """A script of this text, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def start_measuring(
    *arguments: object, held: bool = False, **environment: str
) -> subprocess.Popen[str]:
    """``gpucast measure ARGUMENTS``, not waited for.

    ``held``: once the first cell is in the file, it waits until its stderr is read.
    """
    command = [sys.executable, "-m", "gpucast.cli", "measure", *map(str, arguments)]
    everything = {**os.environ, **environment}
    if held:
        return start_held(command, everything)
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=everything
    )


def only_json(text: str) -> dict[str, Any]:
    """The one JSON object that a text is; NaN and infinities are none."""
    answer = json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert isinstance(answer, dict)
    return answer


def answer_of(finished: tuple[int, str, str]) -> dict[str, Any]:
    """What a command that went well answers as JSON."""
    status, out, err = finished
    assert status == 0, err
    return only_json(out)


def files_of(folder: Path) -> dict[str, bytes]:
    """Name and content of every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and os.access(path, os.R_OK)
    }


def assert_refused(
    finished: subprocess.CompletedProcess[str] | tuple[int, str, str], *said: str
) -> None:
    """Exit status 2, nothing on stdout, one line on stderr that says these."""
    status, out, err = (
        finished
        if isinstance(finished, tuple)
        else (finished.returncode, finished.stdout, finished.stderr)
    )
    lines = err.splitlines()
    errors = [line for line in lines if line.startswith("gpucast: error: ")]
    assert status == 2, err
    assert out == ""
    assert len(errors) == 1, err
    assert lines == errors, err
    for part in said:
        assert part in errors[0]
