"""CUDA programs over the client, servers and the fake driver: what users and administrators see."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from remote_servers import (
    CLIENT,
    FAKE,
    HELLO,
    PATIENCE,
    PROBE,
    PROTOCOL,
    SERVER,
    Raw,
    Server,
    addresses,
    remote_environment,
    run_remote,
    servers,
    sockets_of,
    wait_until,
)

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")

MEBIBYTE = 1 << 20


def failures(finished: subprocess.CompletedProcess[str]) -> str:
    return "\n".join(
        line for line in (finished.stdout + finished.stderr).splitlines() if "ok  " not in line
    )


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("sync", ["0", "1"])
def test_the_runtime_does_what_programs_rely_on(count: int, sync: str) -> None:
    with servers(count) as running:
        finished = run_remote(addresses(running), PROBE, "check", GPUCAST_REMOTE_SYNC=sync)
        assert finished.returncode == 0, failures(finished)
        assert finished.stdout.count("ok  ") == 10
        assert [server.stop() for server in running] == [(0, "")] * count


@pytest.mark.parametrize("channels", ["1", "5"])
def test_any_number_of_channels(channels: str) -> None:
    with servers() as running:
        finished = run_remote(
            addresses(running), PROBE, "copy", 9 * MEBIBYTE + 3, 3, GPUCAST_REMOTE_CHANNELS=channels
        )
        assert finished.returncode == 0, finished.stderr


def test_over_unix_sockets(tmp_path: Path) -> None:
    path = tmp_path / "gpu"
    with servers(1, "--listen", f"unix:{path}") as (server,):
        assert path.stat().st_mode & 0o077 == 0
        finished = run_remote(f"unix:{path}", PROBE, "check")
        assert finished.returncode == 0, failures(finished)
        assert server.stop()[0] == 0
    assert not path.exists()


def test_servers_whose_addresses_collide_are_told_apart() -> None:
    with servers(2, GPUCAST_FAKE_BASE="0x600000000000") as running:
        finished = run_remote(addresses(running), PROBE, "check")
        assert finished.returncode == 0, failures(finished)


def test_slow_gpus_are_waited_for() -> None:
    with servers(1, GPUCAST_FAKE_DELAY="kernel:0.001,copy:0.001,cuMemAlloc:0.001") as running:
        finished = run_remote(addresses(running), PROBE, "check")
        assert finished.returncode == 0, failures(finished)


# ---- copies between devices ----


def copies_between_devices(running: list[Server], path: Path) -> dict[str, int]:
    """How many of each kind the probe's copies are."""
    finished = run_remote(
        addresses(running), PROBE, "check", "between devices", GPUCAST_REMOTE_COUNTERS=str(path)
    )
    assert finished.returncode == 0, failures(finished)
    assert "ok  " in finished.stdout
    lines = map(json.loads, path.read_text().splitlines())
    kinds = {"direct", "staged"}
    named = {line["entry"].strip("()").split(", ")[-1]: line["calls"] for line in lines}
    return {kind: calls for kind, calls in named.items() if kind in kinds}


def test_servers_of_one_host_copy_directly(tmp_path: Path) -> None:
    with servers(2, XDG_RUNTIME_DIR=private_folder(tmp_path / "key")) as running:
        counted = copies_between_devices(running, tmp_path / "counters")
        assert set(counted) == {"direct"}
        assert counted["direct"] > 50
        assert [server.stop() for server in running] == [(0, "")] * 2


def test_servers_of_several_hosts_copy_through_the_client(tmp_path: Path) -> None:
    with (
        servers(1, XDG_RUNTIME_DIR=private_folder(tmp_path / "here")) as (here,),
        servers(1, XDG_RUNTIME_DIR=private_folder(tmp_path / "there")) as (there,),
    ):
        counted = copies_between_devices([here, there], tmp_path / "counters")
        assert set(counted) == {"staged"}


@pytest.mark.parametrize("step", ["cuIpcGetMemHandle:1:801", "cuIpcOpenMemHandle:1:217"])
def test_a_driver_that_shares_no_memory_is_asked_once(step: str, tmp_path: Path) -> None:
    fails = {"GPUCAST_FAKE_FAIL": step}  # once: it would succeed if it were asked again
    with servers(2, XDG_RUNTIME_DIR=private_folder(tmp_path / "key"), **fails) as running:
        counted = copies_between_devices(running, tmp_path / "counters")
        assert set(counted) == {"staged"}


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "key")
    key = Path(folder) / "gpucast-host-key"
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    with servers(2, XDG_RUNTIME_DIR=folder) as running:
        assert set(copies_between_devices(running, tmp_path / "counters")) == {"staged"}
        for server in running:
            status, errors = server.stop()
            assert status == 0
            assert "copies between GPUs go through the client" in errors
            assert str(key) in errors


def private_folder(path: Path) -> str:
    path.mkdir(mode=0o700)
    return str(path)


# ---- the library ----


def exported(library: Path) -> set[str]:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1] for line in listing.splitlines() if "cuda" in line}


def test_every_entry_point_of_the_runtime_is_there() -> None:
    linked = subprocess.run(["ldd", PROBE], capture_output=True, text=True, check=True).stdout
    match = re.search(r"libcudart\.so\.13 => (\S+)", linked)
    assert match is not None, linked
    real = exported(Path(match[1]))
    assert len(real) > 400
    assert real - exported(CLIENT / "libcudart.so.13") == set()


def test_what_is_not_supported_names_itself_once(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        "int cudaMallocManaged(void**, unsigned long, unsigned); int cudaGetLastError(void);\n"
        "int main(void) { void* m;\n"
        "  int a = cudaMallocManaged(&m, 4, 1), b = cudaMallocManaged(&m, 4, 1);\n"
        "  return a == 801 && b == 801 && cudaGetLastError() == 801 ? 0 : 1; }\n"
    )
    program = tmp_path / "program"
    subprocess.run(
        ["cc", source, "-o", program, CLIENT / "libcudart.so.13", f"-Wl,-rpath,{CLIENT}"],
        check=True,
    )
    finished = run_remote("none:1", program)
    assert finished.returncode == 0
    assert finished.stderr.splitlines() == [
        "gpucast remote: not supported on remote GPUs: cudaMallocManaged"
    ]


# ---- counters ----


def test_counters_say_what_went_over_the_wire(tmp_path: Path) -> None:
    path = tmp_path / "counters.jsonl"
    with servers() as running:
        run_remote(
            addresses(running), PROBE, "copy", 4 * MEBIBYTE, 5, GPUCAST_REMOTE_COUNTERS=str(path)
        )
        table = run_remote(
            addresses(running), PROBE, "copy", MEBIBYTE, 1, GPUCAST_REMOTE_COUNTERS="-"
        ).stderr
    counted = {line["entry"]: line for line in map(json.loads, path.read_text().splitlines())}
    copies = counted["cudaMemcpy"]
    assert copies["calls"] == 10
    assert copies["round_trips"] == 5  # those to the device need none
    payload = 20 * MEBIBYTE
    assert payload <= copies["bytes_sent"] < payload * 1.01
    assert payload <= copies["bytes_received"] < payload * 1.01
    assert copies["seconds"] > 0
    assert counted["cudaFree"]["round_trips"] == 0
    assert table.splitlines()[0].split()[:2] == ["entry", "point"]


# ---- what goes wrong ----


def expect_failure(finished: subprocess.CompletedProcess[str], *words: str) -> None:
    assert finished.returncode == 1
    for word in words:
        assert word in finished.stderr, finished.stderr
    assert len(finished.stderr.splitlines()) <= 2, finished.stderr


@pytest.mark.parametrize("servers_named", ["", "nonsense", "127.0.0.1:1", "no.such.host.invalid:9"])
def test_servers_that_are_not_there(servers_named: str) -> None:
    finished = run_remote(servers_named, PROBE, "touch")
    expect_failure(finished, "gpucast remote:", "not available")


def test_a_listener_that_is_no_server() -> None:
    with servers() as (server,):
        server.process.send_signal(signal.SIGSTOP)  # accepts, and says nothing
        finished = run_remote(server.address, PROBE, "touch")
        server.process.send_signal(signal.SIGCONT)
        expect_failure(finished, "no answer in time")


def secret_file(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_the_secret_is_needed_and_has_to_be_right(tmp_path: Path) -> None:
    right = secret_file(tmp_path / "right", "jx72kq9wm4tzb1e5\n")
    wrong = secret_file(tmp_path / "wrong", "jx72kq9wm4tzb1eX\n")
    with servers(1, "--secret-file", str(right)) as (server,):
        good = run_remote(server.address, PROBE, "touch", GPUCAST_REMOTE_SECRET_FILE=str(right))
        assert good.returncode == 0, good.stderr
        expect_failure(
            run_remote(server.address, PROBE, "touch", GPUCAST_REMOTE_SECRET_FILE=str(wrong)),
            "the secret is not the same",
            str(wrong),
        )
        own = private_folder(tmp_path / "run")
        nothing = {"GPUCAST_REMOTE_SECRET_FILE": "", "XDG_RUNTIME_DIR": own}
        expect_failure(run_remote(server.address, PROBE, "touch", **nothing), "needs a secret")
        status, errors = server.stop()
        assert status == 0
        assert "the secret is not the same" in errors


def test_one_users_servers_and_clients_need_no_secret_to_be_named(tmp_path: Path) -> None:
    own = private_folder(tmp_path / "run")
    nothing = {"GPUCAST_REMOTE_SECRET_FILE": "", "XDG_RUNTIME_DIR": own}
    for plain in (), ("--plain",):
        with servers(1, *plain, **nothing) as (server,):
            file = Path(own) / "gpucast-secret"
            assert file.stat().st_mode & 0o777 == 0o600
            mode = {"GPUCAST_REMOTE_PLAIN": str(len(plain))}
            result = run_remote(server.address, PROBE, "touch", **nothing, **mode)
            assert result.returncode == 0, result.stderr
            stranger = {**nothing, "XDG_RUNTIME_DIR": private_folder(tmp_path / f"other{plain}")}
            refused = run_remote(server.address, PROBE, "touch", **stranger, **mode)
            expect_failure(refused, "needs a secret")


@pytest.mark.parametrize("option", [(), ("--plain",)], ids=["TLS", "plain"])
def test_neither_side_falls_back_to_how_the_other_speaks(option: tuple[str, ...]) -> None:
    with servers(1, *option) as (server,):
        same = run_remote(server.address, PROBE, "check", GPUCAST_REMOTE_PLAIN=str(len(option)))
        assert same.returncode == 0, failures(same)
        other = run_remote(
            server.address, PROBE, "touch", GPUCAST_REMOTE_PLAIN=str(1 - len(option))
        )
        expect_failure(other, "TLS", "GPUCAST_REMOTE_PLAIN")
        assert "TLS" in server.stop()[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--listen", "0.0.0.0:0"), "--secret-file is needed"),
        (("--listen", "nonsense"), "no address"),
        (("--listen", "203.0.113.9:1", "--secret-file", "{secret}"), "203.0.113.9:1"),
        (("--secret-file", "/no/such/file"), "cannot be read"),
        (("--secret-file", "{open}"), "others may read"),
        (("--secret-file", "{short}"), "at least 16 bytes"),
        (("--secret-file", "{weak}"), "can be guessed; make one: head -c 32"),
        (("--secret-file", "{folder}"), "{folder}: cannot be read: Is a directory"),
        (("--max-clients", "0"), "--max-clients"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_wrong_options_are_refused(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    files = {
        "secret": secret_file(tmp_path / "secret", "jx72kq9wm4tzb1e5"),
        "short": secret_file(tmp_path / "short", "jx72kq9wm4"),
        "open": secret_file(tmp_path / "open", "jx72kq9wm4tzb1e5"),
        "weak": secret_file(tmp_path / "weak", "0123456789abcdef"),
        "folder": tmp_path,
    }
    files["open"].chmod(0o644)
    finished = subprocess.run(
        [SERVER, *(option.format(**files) for option in options)],
        # Tests before this one may have named a secret for all.
        env={**os.environ, "GPUCAST_LIBCUDA": str(FAKE), "GPUCAST_REMOTE_SECRET_FILE": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert finished.returncode == 2
    assert words.format(**files) in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_a_driver_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match=r"error: no GPU to lend: no CUDA driver: .*libcuda"):
        Server("--listen", "127.0.0.1:0", "--libcuda", "/no/such/libcuda.so.1")


def test_a_driver_that_fails() -> None:
    with pytest.raises(RuntimeError, match="error: no GPU to lend: cuInit: "):
        Server("--listen", "127.0.0.1:0", GPUCAST_FAKE_FAIL="cuInit:1:100")


def test_a_driver_that_crashes() -> None:
    with pytest.raises(RuntimeError, match="by signal 9"):
        Server("--listen", "127.0.0.1:0", GPUCAST_FAKE_KILL="cuInit:1")


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="error: --gpu 5: the machine has 1, counted from 0"):
        Server("--listen", "127.0.0.1:0", gpu=5)


def test_garbage_disturbs_nobody() -> None:
    with servers(1, "--plain") as (server,):
        hold = subprocess.Popen(
            [PROBE, "copy", str(MEBIBYTE), "200"],
            env=remote_environment(server.address, GPUCAST_REMOTE_PLAIN="1"),
        )
        connections = []
        for noise in (b"GET / HTTP/1.1\r\n\r\n" * 4, os.urandom(4096), b"\0" * 32, b""):
            connection = server.connect()
            connections.append(connection)
            connection.sendall(noise)
        # A greeting, then garbage on the lane.
        lane = Raw(server).socket
        lane.sendall(os.urandom(65536))
        with contextlib.suppress(ConnectionResetError):
            while lane.recv(4096):
                pass
        assert hold.wait(timeout=PATIENCE) == 0
        for connection in connections:
            connection.close()
        status, errors = server.stop()
        assert status == 0
        assert "a client was cut off" in errors


def test_another_version_of_the_protocol_is_told() -> None:
    with servers() as (server,):
        connection = server.connect()
        connection.sendall(HELLO[:8] + (99).to_bytes(4, "little") + HELLO[12:] + bytes(16))
        challenge = connection.recv(48, socket.MSG_WAITALL)
        assert int.from_bytes(challenge[8:12], "little") == PROTOCOL
        assert connection.recv(1) == b""
        assert "it speaks version 99" in server.stop()[1]


@pytest.mark.parametrize("step", ["cuMemcpyHtoDAsync:20", "cuMemcpyDtoHAsync:5"])
def test_a_server_killed_in_mid_copy(step: str) -> None:
    with servers(1, GPUCAST_FAKE_KILL=step) as (server,):
        finished = run_remote(server.address, PROBE, "copy", 64 * MEBIBYTE, 4)
        expect_failure(finished, "lost the GPU server", "not available")
        wait_until(lambda: not server.children())
        assert "killed by signal 9" in server.stop()[1]


def test_a_stopped_server_is_given_up() -> None:
    with servers() as (server,):
        program = subprocess.Popen(
            [PROBE, "copy", str(8 * MEBIBYTE), "100000"],
            env=remote_environment(server.address),
            stderr=subprocess.PIPE,
            text=True,
        )
        # Large copies go over bulk connections, which the first one opens.
        wait_until(lambda: server.children() and len(sockets_of(server.children()[0])) > 3)
        (child,) = server.children()
        os.kill(child, signal.SIGSTOP)  # buffers fill up, nothing is closed
        _, errors = program.communicate(timeout=PATIENCE)
        assert program.returncode == 1
        assert "no answer in time" in errors
        os.kill(child, signal.SIGKILL)


def test_errors_of_the_driver_reach_the_program() -> None:
    with servers(1, GPUCAST_FAKE_FAIL="cuMemAlloc:1:2") as (server,):
        expect_failure(run_remote(server.address, PROBE, "touch"), "out of memory")
    with servers(1, GPUCAST_FAKE_FAIL="cuLaunchKernelEx:1:719") as (server,):
        finished = run_remote(server.address, PROBE, "check")
        assert "unspecified launch failure" in finished.stdout


# ---- limits ----


def test_a_client_gets_no_more_memory_than_it_may() -> None:
    with servers(1, "--max-memory", "1MiB") as (server,):
        assert run_remote(server.address, PROBE, "touch").returncode == 0
    with servers(1, "--max-memory", "1000KiB") as (server,):
        expect_failure(run_remote(server.address, PROBE, "touch"), "out of memory")


def test_no_more_clients_than_allowed() -> None:
    with servers(1, "--max-clients", "1") as (server,):
        first = subprocess.Popen(
            [PROBE, "copy", str(MEBIBYTE), "100000"], env=remote_environment(server.address)
        )
        wait_until(lambda: server.children())
        expect_failure(run_remote(server.address, PROBE, "touch"), "too many clients")
        first.kill()
        first.wait()
        wait_until(lambda: not server.children())
        assert run_remote(server.address, PROBE, "touch").returncode == 0


def test_sigterm_ends_the_server_and_its_clients_processes() -> None:
    with servers() as (server,):
        program = subprocess.Popen(
            [PROBE, "copy", str(MEBIBYTE), "100000"],
            env=remote_environment(server.address),
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: server.children())
        (child,) = server.children()
        assert server.stop()[0] == 0
        wait_until(lambda: not Path(f"/proc/{child}").exists())
        assert program.wait(timeout=PATIENCE) == 1


def test_clients_that_come_and_go_leave_nothing_behind() -> None:
    with servers() as (server,):
        before = len(server.descriptors())
        for _ in range(25):
            connection = server.connect()
            connection.close()
            assert run_remote(server.address, PROBE, "touch").returncode == 0
        wait_until(lambda: not server.children())
        wait_until(lambda: len(server.descriptors()) == before)


@pytest.mark.parametrize("sync", ["0", "1"])
def test_mixed_calls_by_several_threads_leave_nothing_behind(sync: str) -> None:
    with servers(2) as running:
        before = [len(server.descriptors()) for server in running]
        finished = run_remote(addresses(running), PROBE, "soak", 2, GPUCAST_REMOTE_SYNC=sync)
        assert finished.returncode == 0, finished.stderr
        assert int(finished.stdout.split()[0]) > 0
        wait_until(lambda: not any(server.children() for server in running))
        wait_until(lambda: [len(server.descriptors()) for server in running] == before)
