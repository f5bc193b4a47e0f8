"""``gpucast remote``: the command that starts servers, and programs over them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Run
from gpucast.errors import GpucastError
from gpucast.remote import client_folder, environment
from remote_servers import CLIENT, FAKE, KERNELS, PROBE, SERVER, servers

needs_build = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")
GPUCAST = (sys.executable, "-m", "gpucast.cli")


def start(*words: object, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GPUCAST, "remote", *map(str, words)],
        env={
            **os.environ,
            "PATH": f"{SERVER.parent}{os.pathsep}{os.environ['PATH']}",
            "GPUCAST_REMOTE_LIB": str(CLIENT),
            "GPUCAST_LIBCUDA": str(FAKE),
            "GPUCAST_FAKE_KERNELS": str(KERNELS),
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@needs_build
def test_served_gpus_are_a_programs_devices() -> None:
    serving = start("serve", "--gpus", "0-1", "--port", 0, GPUCAST_FAKE_DEVICES="2")
    assert serving.stdout is not None
    found = [re.search(r"listening on (\S+)", serving.stdout.readline()) for _ in range(2)]
    gpus = ",".join(each[1] for each in found if each is not None)
    running = start("run", "--gpus", gpus, "--counters", "-", "--", PROBE, "check")
    out, errors = running.communicate(timeout=60)
    assert running.returncode == 0, out + errors
    assert out.count("ok  ") == 10
    assert "round trips" in errors
    serving.send_signal(signal.SIGTERM)
    serving.communicate(timeout=60)
    assert serving.returncode == 0


@needs_build
def test_what_is_served_plainly_is_run_plainly() -> None:
    serving = start("serve", "--gpus", "0", "--port", 0, "--plain")
    assert serving.stdout is not None
    found = re.search(r"listening on (\S+)", serving.stdout.readline())
    assert found is not None
    for plain, status in (("--plain",), 0), ((), 1):
        running = start("run", "--gpus", found[1], *plain, "--", PROBE, "touch")
        _, errors = running.communicate(timeout=60)
        assert running.returncode == status, errors
    assert "without TLS (--plain)" in errors
    serving.send_signal(signal.SIGTERM)
    serving.communicate(timeout=60)


@needs_build
def test_the_programs_exit_status_is_passed_on() -> None:
    with servers() as (server,):
        running = start("run", "--gpus", server.address, "--sync", "--", PROBE, "nonsense")
        running.communicate(timeout=60)
        assert running.returncode == 2


@needs_build
def test_a_server_that_cannot_listen_ends_all() -> None:
    serving = start(
        "serve", "--gpus", "0,1", "--host", "0.0.0.0", "--port", 0, GPUCAST_REMOTE_SECRET_FILE=""
    )
    _, errors = serving.communicate(timeout=60)
    assert serving.returncode == 2
    assert "--secret-file is needed" in errors


@needs_build
def test_a_program_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(CLIENT))
    status, _, errors = run("remote", "run", "--gpus", "a:1", "--", "/no/such/program")
    assert status == 2
    assert "/no/such/program" in errors


def test_a_build_without_remote_gpus_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(tmp_path))
    with pytest.raises(GpucastError, match="built without remote GPUs"):
        client_folder()


@pytest.mark.parametrize("gpus", ["", "one", "1-", "-1", "0,,1", "3-1", "0,2-1"])
def test_wrong_gpus_are_refused(gpus: str, run: Run) -> None:
    status, _, errors = run("remote", "serve", f"--gpus={gpus}")
    assert status == 2
    assert "--gpus" in errors


def test_the_environment_keeps_what_was_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "libcudart.so.13").touch()
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(tmp_path))
    result = environment(
        "a:1,b:2",
        plain=True,
        sync=True,
        channels=3,
        base={"LD_LIBRARY_PATH": "/mine", "OTHER": "x"},
    )
    assert result["LD_LIBRARY_PATH"] == f"{tmp_path}:/mine"
    assert result["GPUCAST_REMOTE"] == "a:1,b:2"
    assert result["GPUCAST_REMOTE_SYNC"] == "1"
    assert result["GPUCAST_REMOTE_PLAIN"] == "1"
    assert result["GPUCAST_REMOTE_CHANNELS"] == "3"
    assert result["OTHER"] == "x"


def test_a_program_waits_in_every_call_if_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "libcudart.so.13").touch()
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(tmp_path))
    exported = {"GPUCAST_REMOTE_SYNC": "1"}
    assert environment("a:1", base=exported)["GPUCAST_REMOTE_SYNC"] == "1"
    assert "GPUCAST_REMOTE_SYNC" not in environment("a:1", base={})
