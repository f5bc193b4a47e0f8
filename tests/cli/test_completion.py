"""Shells complete ``gpucast``'s commands, options and words."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gpucast
from command_line import executable
from gpucast.cli import main

Asked = Callable[[str, str], list[str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Asked:
    """The command's answer to a shell's script that asks what may follow on a line."""

    def answered(shell: str, line: str) -> list[str]:
        monkeypatch.setenv("_GPUCAST_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        if shell == "bash":
            monkeypatch.setenv("COMP_WORDS", line)
            monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        else:
            monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        with pytest.raises(SystemExit) as ended:
            main([])
        out, err = capsys.readouterr()
        assert (ended.value.code, err) == (0, "")
        return out.split("\n")[:-1]

    return answered


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
        ("gpucast fit steps.c", [""]),  # not one of our words, so that bash completes files
    ],
)
def test_bash_is_told_what_may_follow(asked: Asked, line: str, follow: list[str]) -> None:
    assert asked("bash", line) == follow


def test_zsh_and_fish_are_told_with_help(asked: Asked) -> None:
    assert "doctor\tSay what is here, and what is in the way." in asked("fish", "gpucast do")
    (answer,) = asked("zsh", "gpucast fit --mach")
    assert '"--machine":"Machine id' in answer


def test_bash_completes_with_the_script_that_is_shown(tmp_path: Path) -> None:
    command = f'#!/bin/sh\nexec "{sys.executable}" -m gpucast.cli "$@"\n'
    executable(tmp_path / "gpucast", command)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(gpucast.__file__).parents[1]),
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
