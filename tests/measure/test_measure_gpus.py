"""``gpucast measure`` over GPUs that a fake driver stands for: servers, their loss, busy GPUs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpucast as gc
from command_line import executable, only_json, start_measuring
from gpucast.measure.machine import occupants
from gpucast.measure.paths import Path as MeasuredPath
from gpucast.measure.paths import parse_paths
from remote_servers import (
    CLIENT,
    PROBE,
    Server,
    addresses,
    fake_kernels,
    remote_environment,
    servers,
)
from waiting import HANG, until

pytestmark = pytest.mark.slow

KERNELS = fake_kernels("microbench", "mdapp")
GRID = ("--n", "64,216", "--kernels", "claret", "--schedules", "star-async", "--no-transfers",
        "--max-time", "0.05s")  # fmt: skip

REHEARSED = "measured on a rehearsed GPU (fake GPU 0), which computes nothing: times are not real"

over_servers = pytest.mark.skipif(
    not PROBE.exists() or not all(file.exists() for file in KERNELS), reason=f"no {PROBE}"
)


@pytest.fixture
def two_servers() -> Iterator[list[Server]]:
    with servers(2, GPUCAST_FAKE_KERNELS=":".join(map(str, KERNELS))) as running:
        yield running


def start(*arguments: object, held: bool = False, **environment: str) -> subprocess.Popen[str]:
    """``gpucast measure ARGUMENTS``, not waited for; ``held``: as ``start_measuring``."""
    environment = {"GPUCAST_REMOTE_LIB": str(CLIENT), **environment}
    return start_measuring(*arguments, held=held, **environment)


def test_paths_are_read_as_they_are_written() -> None:
    assert parse_paths("host:8") == [MeasuredPath("host", threads=8)]
    assert parse_paths("host, native,far=a:1 + unix:/b,slow=sync: a:1") == [
        MeasuredPath("host"),
        MeasuredPath("native"),
        MeasuredPath("far", ("a:1", "unix:/b")),
        MeasuredPath("slow", ("a:1",), sync=True),
    ]


@over_servers
def test_servers_are_paths_of_their_own_labels(two_servers: list[Server], tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    both = addresses(two_servers).replace(",", "+")
    process = start("--paths", f"far={both},slow=sync:{both}", *GRID, "--n", "64", "--gpus", "2",
                    "--json", "-o", path)  # fmt: skip
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    assert [p["measured"] for p in only_json(out)["paths"]] == [1, 1]
    data = gc.load(path)
    assert {(s.path, s.machine.rpartition("/")[2]) for s in data.steps} == {
        ("far", "far"),
        ("slow", "slow"),
    }
    assert {len(machine.gpus or []) for machine in data.machines.values()} == {2}


@over_servers
def test_a_server_that_vanishes_ends_its_path_and_no_other(
    two_servers: list[Server], tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    both = addresses(two_servers).replace(",", "+")
    process = start("--paths", f"far={both},host", *GRID, "--gpus", "1", "--n", "64,125,216",
                    "--json", "-o", path, held=True)  # fmt: skip
    assert until(lambda: path.exists() and '"kind":"step"' in path.read_text(), process)
    for server in two_servers:
        server.process.kill()
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 1, err
    assert err.lstrip("\n").startswith("far [1/3] n=64 gpus=1 ")
    assert f"gpucast: path far: {REHEARSED}\n" in err
    far, host = only_json(out)["paths"]
    assert (far["status"], far["measured"]) == ("ended", 1)
    assert (host["status"], host["measured"]) == ("complete", 3)
    data = gc.load(path)
    assert len(data.steps) == 4
    assert any(note.text.startswith("path far ended: ") for note in data.notes)


@over_servers
@pytest.mark.parametrize(
    ("mode", "content", "address", "why"),
    [
        (0o600, "another secret than the one of all servers", None, "the secret is not the same"),
        (0o644, "a secret that everybody on the host may read", None, "others may read the secret"),
        (0o600, "one that is not asked for", "127.0.0.1:1", "127.0.0.1:1: Connection refused"),
    ],
)
def test_why_a_server_cannot_be_used_is_said(
    mode: int, content: str, address: str | None, why: str, two_servers: list[Server],
    tmp_path: Path,
) -> None:  # fmt: skip
    """In the words of ``gpucast remote check``."""
    secret, path = tmp_path / "secret", tmp_path / "data.jsonl"
    secret.write_text(content)
    secret.chmod(mode)
    servers_named = address or two_servers[0].address
    process = start("--paths", f"far={servers_named}", *GRID, "--quiet", "-o", path,
                    "--secret-file", secret)  # fmt: skip
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 1
    (line,) = err.splitlines()
    assert line.startswith("gpucast: path far ended: ")
    assert why in line
    assert [note.text for note in gc.load(path).notes] == [line.removeprefix("gpucast: ")]
    checked = subprocess.run(
        [sys.executable, "-m", "gpucast.cli", "remote", "check", servers_named,
         "--secret-file", secret],
        env={**os.environ, "GPUCAST_REMOTE_LIB": str(CLIENT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 2
    (error,) = checked.stderr.splitlines()
    assert error.removeprefix("gpucast: error: ").removeprefix(f"{servers_named}: ") in line


@over_servers
def test_who_uses_a_gpu_is_said_and_it_is_measured(
    two_servers: list[Server], tmp_path: Path
) -> None:
    """The native path, here over the client; nvidia-smi is a script."""
    asked = "#!/bin/sh\necho '4711, /opt/other, train, 1024 MiB'\necho '[N/A]'\n"
    executable(tmp_path / "nvidia-smi", asked)
    environment = remote_environment(addresses(two_servers))
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    path = tmp_path / "data.jsonl"
    process = start("--paths", "native", *GRID, "--n", "64", "--quiet", "-o", path, **environment)
    _, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, err
    message = "a GPU is in use by another program: /opt/other, train (process 4711, 1024 MiB)"
    # Whether there is a counter of energy is the machine's own.
    told = [line for line in err.splitlines() if "energy is not recorded" not in line]
    assert told == [f"gpucast: {message}", f"gpucast: path native: {REHEARSED}"]
    data = gc.load(path)
    assert [note.text for note in data.notes] == [message]
    assert {(step.path, step.n, step.gpus) for step in data.steps} == {
        ("native", 64, 1),
        ("native", 64, 2),
    }


def test_without_anybody_who_could_tell_no_gpu_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert occupants() == []
