"""Shells complete ``gpucast``'s commands, options and words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpucast
from command_line import python

OURS = Path(gpucast.__file__).parents[1]


def asked(shell: str, line: str) -> list[str]:
    """What the command answers to a shell's script that asks what may follow on a line."""
    words = line.split(" ")
    asked_by = {"_TYPER_COMPLETE_ARGS": line}
    if shell == "bash":
        asked_by = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    how = {"_GPUCAST_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = python("-m", "gpucast.cli", **how, **asked_by)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "follow"),
    [
        ("gpucast fi", ["fit", "figures"]),
        ("gpucast data sh", ["show"]),
        ("gpucast fit --mach", ["--machine"]),
        ("gpucast data show --a", ["--all"]),
        ("gpucast predict model.json --interval ", ["now", "later", "machine"]),
        ("gpucast measure --kernels ", ["claret", "tuned"]),
        ("gpucast measure --schedule star-async,star", ["star-async,star-serial"]),
        ("gpucast measure --paths n", ["native"]),
        ("gpucast fit --schedule all", ["allgather"]),
        ("gpucast fit --memory pi", ["pinned"]),
        ("gpucast data show h200-x4-", ["h200-x4-mixed"]),
        ("gpucast figures gflops h200-shm", ["h200-shm"]),
        ("gpucast fit steps.c", [""]),  # no word of ours, so bash goes on with files
    ],
)
def test_bash_is_told_what_may_follow(line: str, follow: list[str]) -> None:
    assert asked("bash", line) == follow


def test_zsh_and_fish_are_told_with_help() -> None:
    assert "doctor\tSay what is here, and what is in the way." in asked("fish", "gpucast do")
    (answer,) = asked("zsh", "gpucast fit --mach")
    assert '"--machine":"Machine id' in answer


def test_bash_completes_with_the_script_that_is_shown(tmp_path: Path) -> None:
    (tmp_path / "gpucast").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m gpucast.cli "$@"\n', encoding="utf-8"
    )
    (tmp_path / "gpucast").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(OURS),
    }
    script = (
        'eval "$(gpucast --show-completion)"; '
        "COMP_WORDS=(gpucast fit --mach); COMP_CWORD=2; _gpucast_completion gpucast; "
        'echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "--machine\n", done.stderr
