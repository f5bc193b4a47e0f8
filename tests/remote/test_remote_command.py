"""``gpucast remote``: the command that starts servers, and programs over them."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Run, assert_refused, executable
from gpucast.data.dataset import FAKE_GPU
from gpucast.errors import GpucastError
from gpucast.remote import client_folder, environment
from gpucast.remote.addresses import named_twice
from remote_servers import (
    CLIENT,
    FAKE,
    KERNELS,
    PROBE,
    SERVER,
    addresses,
    remote_environment,
    servers,
    wait_until,
)

needs_build = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")
needs_server = pytest.mark.skipif(
    not SERVER.exists() or not FAKE.exists(), reason=f"no {SERVER} or no {FAKE}"
)
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


def listening(serving: subprocess.Popen[str], count: int = 1) -> str:
    """The addresses of servers that have begun."""
    lines = [serving.stdout.readline() for _ in range(count)]
    return ",".join(re.search(r"listening on (\S+)", line)[1] for line in lines)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that is taken for the client's."""
    (tmp_path / "libcudart.so.13").touch()
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(tmp_path))
    return tmp_path


@needs_build
def test_served_gpus_are_a_programs_devices() -> None:
    serving = start("serve", "--gpus", "0-1", "--port", 0, GPUCAST_FAKE_DEVICES="2")
    running = start("run", "--gpus", listening(serving, 2), "--counters", "-", "--", PROBE, "check")
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
    gpus = listening(serving)
    for plain, status in (("--plain",), 0), ((), 1):
        running = start("run", "--gpus", gpus, *plain, "--", PROBE, "touch")
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


@needs_server
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_server_that_is_killed_ends_all_and_is_named(
    number: signal.Signals, tmp_path: Path
) -> None:
    serving = start("serve", "--gpus", "0,1", "--socket-folder", tmp_path, GPUCAST_FAKE_DEVICES="2")
    listening(serving, 2)
    children = Path(f"/proc/{serving.pid}/task/{serving.pid}/children").read_text().split()
    os.kill(int(children[1]), number)
    _, errors = serving.communicate(timeout=60)
    assert serving.returncode == 1
    assert errors == (
        f"gpucast: error: the server of GPU 1 at unix:{tmp_path}/gpu1 was ended by {number.name}; "
        "the others were ended, too\n"
    )
    assert not any(Path(f"/proc/{process}").exists() for process in children)


@needs_server
def test_a_server_that_is_wrong_says_so_itself() -> None:
    serving = start("serve", "--gpus", "0,7", "--port", 0, GPUCAST_FAKE_DEVICES="1")
    _, errors = serving.communicate(timeout=60)
    assert serving.returncode == 2
    (line,) = errors.splitlines()
    assert line.startswith("gpucast-gpu-server: error: ")


# ---- servers that are asked ----


@needs_build
def test_a_server_that_cannot_listen_ends_all() -> None:
    serving = start(
        "serve", "--gpus", "0,1", "--host", "0.0.0.0", "--port", 0, GPUCAST_REMOTE_SECRET_FILE=""
    )
    out, errors = serving.communicate(timeout=60)
    assert serving.returncode == 2
    assert all(line.startswith("gpucast-gpu-server: error: ") for line in errors.splitlines())
    assert "--secret-file is needed" in errors
    assert out == ""  # nothing has listened


@needs_build
def test_servers_say_what_they_lend() -> None:
    with servers(2, "--max-memory", "256MiB") as running:
        asking = start("status", addresses(running), "--json")
        out, errors = asking.communicate(timeout=60)
        assert (asking.returncode, errors) == (0, "")
    listed = json.loads(out)["servers"]
    assert [server["address"] for server in listed] == [server.address for server in running]
    for server in listed:
        assert server["reachable"]
        assert server["problem"] is None
        assert server["gpu"]
        assert server["version"]
        assert server["clients"] == 0  # besides the one that asks
        assert server["transport"] == "tls"
        assert server["free_bytes"] == server["memory_bytes"] == 256 << 20
        assert server["round_trip_seconds"] > 0
        assert server["up_bytes_per_second"] > 0
        assert server["down_bytes_per_second"] > 0


@needs_build
@pytest.mark.parametrize(
    ("listen", "options", "transport", "words"),
    [
        ("127.0.0.1:0", ["--plain"], "plain", "plain"),
        ("127.0.0.1:0", [], "tls", "TLS"),
        ("unix:{}/gpu", [], "shm", "shared memory"),
        ("unix:{}/gpu", ["--plain"], "shm", "shared memory"),
    ],
)
def test_what_carries_the_calls_is_named(
    listen: str, options: list[str], transport: str, words: str, tmp_path: Path
) -> None:
    with servers(1, "--listen", listen.format(tmp_path), *options) as (server,):
        out, errors = start("check", server.address, *options, "--json").communicate(timeout=60)
        assert errors == ""
        assert [report["transport"] for report in json.loads(out)["servers"]] == [transport]
        out, _ = start("check", server.address, *options).communicate(timeout=60)
        assert re.search(rf"{re.escape(server.address)} +{words} +fake GPU 0 ", out)


def test_limits_are_the_servers(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = executable(tmp_path / "server", f'#!/bin/sh\necho "$@" >{tmp_path}/words\n')
    monkeypatch.setattr("gpucast.remote.server_program", lambda: server)
    limits = ("--max-clients", "9", "--max-memory", "1GB")
    limits += ("--max-pinned", "2MiB", "--max-silence", "70", "--image-cache", "0")
    status, _, errors = run("remote", "serve", "--gpus", "0", *limits)
    assert (status, errors) == (
        1,
        "gpucast: error: the server of GPU 0 at 127.0.0.1:9700 was told to end\n",
    )
    assert (tmp_path / "words").read_text().endswith(" ".join(limits) + "\n")


@needs_server
def test_who_comes_and_goes_is_in_the_log_where_it_is_asked_for(tmp_path: Path) -> None:
    socket = f"unix:{tmp_path}/gpu0"
    listen = ("--listen", f"127.0.0.1:0,{socket}")
    with servers(1, *listen, "--log-clients", "--max-clients", "1") as (server,):
        for address in server.address, socket:
            _, errors = start("check", address).communicate(timeout=60)
            assert errors == ""
            wait_until(lambda: not server.children())
        status, log = server.stop()
    assert status == 0
    tcp, left, local, also_left, last = log.splitlines()
    peer = re.fullmatch(r"gpucast-gpu-server: client (127\.0\.0\.1:\d+) was let in, 1 of 1", tcp)
    assert peer is not None, tcp
    assert left == f"gpucast-gpu-server: client {peer[1]} has left"
    match = re.fullmatch(
        r"gpucast-gpu-server: client (process \d+ of user \d+) was let in.*", local
    )
    assert match is not None, local
    assert match[1].endswith(f" of user {os.getuid()}")
    assert also_left == f"gpucast-gpu-server: client {match[1]} has left"
    assert last == "gpucast-gpu-server: SIGTERM: ends, and 0 clients with it"


@needs_server
def test_who_is_refused_is_in_every_log(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    for secret in right, wrong:
        secret.write_text(secrets.token_hex(32))
        secret.chmod(0o600)
    with servers(1, "--secret-file", str(right)) as (server,):
        for secret, status, words in ((right, 0, ""), (wrong, 2, "the secret is not the same")):
            asking = start("check", server.address, "--secret-file", secret)
            assert words in asking.communicate(timeout=60)[1]
            assert asking.returncode == status
        _, log = server.stop()
    assert re.fullmatch(
        r"gpucast-gpu-server: a connection was refused: .* \(127\.0\.0\.1:\d+\)\n", log
    )


@needs_server
@pytest.mark.parametrize(("server_is", "client_is"), [((), ("--plain",)), (("--plain",), ())])
def test_who_has_tls_alone_is_told_by_the_commands_options(
    server_is: tuple[str, ...], client_is: tuple[str, ...]
) -> None:
    with servers(1, *server_is) as (server,):
        _, errors = start("check", server.address, *client_is).communicate(timeout=60)
    assert "--plain" in errors
    assert "run --plain" not in errors


@needs_build
def test_a_server_counts_its_clients() -> None:
    with servers() as (server,):
        others = [
            subprocess.Popen(
                [PROBE, "copy", "1000", "1000000"], env=remote_environment(server.address)
            )
            for _ in range(2)
        ]
        wait_until(lambda: len(server.children()) == 2)
        out, _ = start("check", server.address, "--json").communicate(timeout=60)
        for process in others:
            process.kill()
            process.wait()
    (listed,) = json.loads(out)["servers"]
    assert listed["clients"] == 2
    assert listed["up_bytes_per_second"] is None


@needs_build
def test_a_server_that_does_not_answer_is_wrong_input() -> None:
    with servers() as (server,):
        asking = start("check", f"{server.address},127.0.0.1:1,no.such.host.invalid:9")
        out, errors = asking.communicate(timeout=60)
        assert asking.returncode == 2
        assert server.address in out
        first, second, error = errors.splitlines()
        assert first == "gpucast: warning: 127.0.0.1:1: Connection refused"
        assert re.fullmatch(r"gpucast: warning: no\.such\.host\.invalid:9: \S.*", second)
        assert error == "gpucast: error: servers: 2 of 3 cannot be used"


@needs_build
def test_an_address_that_is_none_is_said_to_be_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(CLIENT))
    status, _, errors = run("remote", "check", "nonsense")
    assert status == 2
    assert errors.startswith("gpucast: error: nonsense: 'nonsense' is no address: host:port")


def test_a_server_listens_at_an_address_or_in_a_folder(run: Run, tmp_path: Path) -> None:
    assert_refused(
        run("remote", "serve", "--host", "10.0.0.7", "--socket-folder", tmp_path),
        "--host and --socket-folder",
    )


def test_a_folder_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert_refused(
        run("remote", "serve", "--gpus", "0", "--socket-folder", absent),
        f"--socket-folder: {absent} is no folder",
    )


def test_all_gpus_of_a_machine_without_any_are_wrong_input(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, errors = run("remote", "serve", "--gpus", "all")
    assert status == 2
    assert errors == (
        "gpucast: error: --gpus all: nvidia-smi lists no GPUs here; name them: --gpus 0,1\n"
    )


def test_servers_have_to_be_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUCAST_REMOTE", raising=False)
    for words, told in (
        ((), "servers: name servers"),
        (("a:1,,b:2",), "servers: 'a:1,,b:2' has an empty address"),
        (("",), "servers: it is empty"),
    ):
        assert_refused(run("remote", "check", *words), told)
    monkeypatch.setenv("GPUCAST_REMOTE", "")
    status, _, errors = run("remote", "check")
    assert (status, errors) == (
        2,
        "gpucast: error: GPUCAST_REMOTE: it is empty: name servers, host:port,...\n",
    )


@pytest.mark.parametrize("gpus", ["", " ", ",", "a:1,"])
def test_a_program_is_not_started_without_servers(gpus: str, run: Run, client: Path) -> None:
    started = client / "started"
    status, _, errors = run("remote", "run", f"--gpus={gpus}", "--", "touch", started)
    assert status == 2
    assert errors.startswith("gpucast: error: --gpus: ")
    assert len(errors.splitlines()) == 1
    assert not started.exists()


@needs_build
def test_a_rehearsal_needs_no_gpu_and_no_kernels() -> None:
    serving = start("serve", "--fake", "--gpus", "0-1", "--port", 0, GPUCAST_FAKE_KERNELS="")
    running = start("run", "--gpus", listening(serving, 2), "--", PROBE, "check")
    out, _ = running.communicate(timeout=60)
    assert "ok  " in out  # copies copy
    assert "FAILED" in out.upper() or running.returncode != 0  # and kernels do not compute
    serving.send_signal(signal.SIGTERM)
    _, errors = serving.communicate(timeout=60)
    assert serving.returncode == 0
    assert "no GPU computes here" in errors


@needs_server
def test_a_rehearsed_gpu_is_known_by_its_name() -> None:
    with servers() as (server,):
        out, errors = start("check", server.address, "--json").communicate(timeout=60)
    (listed,) = json.loads(out)["servers"]
    assert str(listed["gpu"]).startswith(FAKE_GPU), errors


@needs_build
def test_a_program_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(CLIENT))
    assert_refused(
        run("remote", "run", "--gpus", "a:1", "--", "/no/such/program"), "/no/such/program"
    )


def test_a_build_without_remote_gpus_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUCAST_REMOTE_LIB", str(tmp_path))
    with pytest.raises(GpucastError, match="built without remote GPUs"):
        client_folder()


@pytest.mark.parametrize("gpus", ["", "one", "1-", "-1", "0,,1", "3-1", "0,2-1"])
def test_wrong_gpus_are_refused(gpus: str, run: Run) -> None:
    assert_refused(run("remote", "serve", f"--gpus={gpus}"), "--gpus")


def test_the_environment_keeps_what_was_there(client: Path) -> None:
    result = environment(
        "a:1,b:2",
        plain=True,
        sync=True,
        channels=3,
        base={"LD_LIBRARY_PATH": "/mine", "LD_PRELOAD": "mine.so", "OTHER": "x"},
    )
    assert result["LD_LIBRARY_PATH"] == f"{client}:/mine"
    assert result["LD_PRELOAD"] == f"{client}/libcuda.so.1:mine.so"
    assert result["CUDA_VISIBLE_DEVICES"] == ""
    assert result["GPUCAST_REMOTE"] == "a:1,b:2"
    assert result["GPUCAST_REMOTE_SYNC"] == "1"
    assert result["GPUCAST_REMOTE_PLAIN"] == "1"
    assert result["GPUCAST_REMOTE_CHANNELS"] == "3"
    assert result["OTHER"] == "x"


def test_the_guard_is_not_in_the_way_of_who_may_use_local_gpus(client: Path) -> None:
    before = {"LD_LIBRARY_PATH": f"{client}:/mine"}
    by_option = environment("a:1", allow_local_cuda=True, base=before)
    assert by_option["LD_LIBRARY_PATH"] == "/mine"
    assert by_option["LD_PRELOAD"] == f"{client}/libcudart.so.13:{client}/libcudart.so.12"
    assert "CUDA_VISIBLE_DEVICES" not in by_option
    by_variable = environment("a:1", base={**before, "GPUCAST_REMOTE_MIXED": "allow"})
    assert by_variable == by_option


def test_a_program_in_another_folder_finds_secret_and_sockets(
    monkeypatch: pytest.MonkeyPatch, client: Path
) -> None:
    monkeypatch.chdir(client)
    variables = environment(
        "unix:run/gpu0, unix:/run/gpu1,unix:9700", secret_file=Path("own"), counters="calls.jsonl"
    )
    assert (
        variables["GPUCAST_REMOTE"] == f"unix:{client}/run/gpu0,unix:/run/gpu1,unix:{client}/9700"
    )
    assert variables["GPUCAST_REMOTE_SECRET_FILE"] == f"{client}/own"
    assert variables["GPUCAST_REMOTE_COUNTERS"] == f"{client}/calls.jsonl"
    exported = {"GPUCAST_REMOTE_SECRET_FILE": "theirs"}
    variables = environment("unix:,[::1]:1,a:1", counters="-", base=exported)
    assert variables["GPUCAST_REMOTE"] == "unix:,[::1]:1,a:1"
    assert variables["GPUCAST_REMOTE_SECRET_FILE"] == f"{client}/theirs"
    assert variables["GPUCAST_REMOTE_COUNTERS"] == "-"


def test_a_server_that_is_named_twice_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, client: Path
) -> None:
    assert named_twice(["a:1", "b:1", "unix:/x"]) is None
    assert named_twice([]) is None
    monkeypatch.chdir(client)
    twice = ["a:1", "unix:x", "a:1", f"unix:{client}/x", "a:1", "b:2"]
    message = (
        f"named more than once: a:1 3 times, unix:{client}/x 2 times; those devices are one GPU"
    )
    assert named_twice(twice) == message
    _, _, errors = run("remote", "run", "--gpus", ",".join(twice), "--", "/no/such/program")
    assert errors.splitlines()[0] == f"gpucast: warning: {message}"
    paths = f"far={'+'.join(twice)}"
    _, _, errors = run("measure", "--paths", paths, "-o", client / "data.jsonl")
    assert errors.splitlines()[0] == f"gpucast: warning: path far: {message}"


@needs_server
def test_a_server_that_is_named_twice_is_asked_all_the_same() -> None:
    with servers() as (server,):
        asking = start("check", f"{server.address},{server.address}", "--json")
        out, errors = asking.communicate(timeout=60)
    assert asking.returncode == 0
    assert [report["reachable"] for report in json.loads(out)["servers"]] == [True, True]
    assert errors == (
        f"gpucast: warning: named more than once: {server.address} 2 times; "
        "those devices are one GPU\n"
    )


@needs_server
def test_a_server_at_a_socket_is_named_as_the_user_did(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with servers(1, "--listen", f"unix:{tmp_path}/gpu0"):
        asking = start("check", "unix:gpu0,unix:gpu1", "--json")
        out, errors = asking.communicate(timeout=60)
    first, second = json.loads(out)["servers"]
    assert (first["address"], first["problem"]) == ("unix:gpu0", None)
    assert errors == f"gpucast: error: unix:gpu1: {second['problem']}\n"
    assert second["problem"] == "No such file or directory"


def test_a_program_waits_in_every_call_if_the_environment_says_so(client: Path) -> None:
    exported = {"GPUCAST_REMOTE_SYNC": "1"}
    assert environment("a:1", base=exported)["GPUCAST_REMOTE_SYNC"] == "1"
    assert "GPUCAST_REMOTE_SYNC" not in environment("a:1", base={})
