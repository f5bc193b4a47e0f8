"""One host: calls and copies through memory that client and server share, over the fake driver."""

import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from remote_servers import (
    PATIENCE,
    PROBE,
    Server,
    addresses,
    built,
    fake_kernels,
    run_remote,
    servers,
    start,
    wait_until,
)

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"no {PROBE}")

MDAPP = built("..", "mdapp", "gpucast-mdapp")
(KERNELS,) = fake_kernels("mdapp")
SHARED = {"GPUCAST_REMOTE_TRANSPORT": "shared-memory"}


def at_sockets(
    folder: Path, count: int = 1, *options: str, **environment: str
) -> AbstractContextManager[list[Server]]:
    """Servers at Unix sockets; `address` is theirs."""
    return servers(count, "--listen", f"unix:{folder}/{{gpu}}", *options, **environment)


def segments(process: int) -> int:
    """Mappings of shared memory that the process has."""
    return Path(f"/proc/{process}/maps").read_text().count("memfd:gpucast")


def test_all_checks_hold(tmp_path: Path) -> None:
    with at_sockets(tmp_path, 2) as running:
        finished = run_remote(addresses(running), PROBE, "check", **SHARED)
        assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("security", ["TLS", "plain"])
def test_a_client_and_its_server_share_memory_where_the_address_is_a_socket(
    security: str, tmp_path: Path
) -> None:
    options = () if security == "TLS" else ("--plain",)
    plain = str(int(security == "plain"))
    with at_sockets(tmp_path, 1, *options) as (server,):
        client = start(
            server.address, "pinned(8 << 20); ready(); sys.stdin.read()",
            GPUCAST_REMOTE_PLAIN=plain,
        )  # fmt: skip
        (child,) = server.children()
        # The rings, and the pinned memory.
        assert segments(child) == segments(client.pid) == 2
        # Memory without a name needs no file system.
        assert "/dev/shm" not in Path(f"/proc/{client.pid}/maps").read_text()
        client.communicate(timeout=PATIENCE)
        wait_until(lambda: not server.children())


def test_another_transport_can_be_asked_for(tmp_path: Path) -> None:
    with at_sockets(tmp_path) as (server,):
        client = start(
            server.address, "pinned(8 << 20); ready(); sys.stdin.read()",
            GPUCAST_REMOTE_TRANSPORT="socket",
        )  # fmt: skip
        (child,) = server.children()
        assert segments(child) == segments(client.pid) == 0
        client.communicate(timeout=PATIENCE)


def test_shared_memory_that_is_asked_for_by_name_and_cannot_be_had_is_an_error() -> None:
    with servers() as running:
        finished = run_remote(addresses(running), PROBE, "touch", **SHARED)
    assert finished.returncode == 1
    assert "it shares no memory with this client" in finished.stderr
    finished = run_remote("unix:/nowhere", PROBE, "touch", GPUCAST_REMOTE_TRANSPORT="ring")
    assert "GPUCAST_REMOTE_TRANSPORT=ring: auto, socket" in finished.stderr


@pytest.mark.skipif(not KERNELS.exists() or not MDAPP.exists(), reason=f"no {KERNELS}")
@pytest.mark.parametrize(
    ("schedule", "memory"),
    [("star-serial", "pageable"), ("star-serial", "pinned"), ("star-async", "pinned")],
)
def test_trajectories_are_the_same_to_the_last_bit(
    schedule: str, memory: str, tmp_path: Path
) -> None:
    run = ("simulate", "--n", 216, "--steps", 20, "--every", 5, "--gpus", 2, "--force")
    run += ("--schedule", schedule, "--kernel", "claret", "--engine", "cuda", "--memory", memory)
    kernels = {"GPUCAST_FAKE_KERNELS": str(KERNELS)}
    trajectories = {}
    with at_sockets(tmp_path, 2, **kernels) as running:
        for transport in ("shared-memory", "socket"):
            path = tmp_path / f"{transport}.xyz"
            finished = run_remote(
                addresses(running), MDAPP, *run, "--trajectory", path,
                GPUCAST_REMOTE_TRANSPORT=transport,
            )  # fmt: skip
            assert finished.returncode == 0, finished.stderr
            trajectories[transport] = path.read_bytes()
    assert trajectories["shared-memory"] == trajectories["socket"]
    assert b"lattice" in trajectories["socket"].lower()


def test_small_pinned_pieces_are_parts_of_few_segments(tmp_path: Path) -> None:
    with at_sockets(tmp_path) as (server,):
        program = """
all = [pinned(100) for _ in range(500)] + [pinned(1 << 20) for _ in range(2)]
assert len({each.value for each in all}) == len(all)
for k, each in enumerate(all): c.memset(each, k % 256, 100)
assert all(c.string_at(each, 100) == bytes([k % 256]) * 100 for k, each in enumerate(all))
ready()
sys.stdin.readline()
for each in all: assert cuda.cudaFreeHost(each) == 0
print("freed", flush=True)
sys.stdin.readline()
"""
        program = program.replace("assert all(", "assert __builtins__.all(")
        client = start(server.address, program, **SHARED)
        (child,) = server.children()
        assert 2 <= segments(child) <= 4
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "freed\n"
        assert segments(child) == segments(client.pid) == 2  # one is kept for more
        client.communicate("\n", timeout=PATIENCE)


def test_a_server_that_takes_no_more_memory_is_used_all_the_same(tmp_path: Path) -> None:
    with at_sockets(tmp_path, 1, "--max-pinned", "1MiB") as (server,):
        finished = run_remote(server.address, PROBE, "copy", 9 << 20, 3, **SHARED)
        assert finished.returncode == 0, finished.stderr
        finished = run_remote(server.address, PROBE, "check", **SHARED)
        assert finished.returncode == 0, finished.stdout + finished.stderr


def test_nothing_is_left_of_clients_that_are_killed_in_the_middle(tmp_path: Path) -> None:
    program = """
a, p = memory(32 << 20), pinned(32 << 20)
b = c.create_string_buffer(32 << 20)
ready()
while True:
    cuda.cudaMemcpyAsync(a, p, size(32 << 20), 1, None)
    cuda.cudaMemcpy(b, a, size(32 << 20), 2)
"""
    with at_sockets(tmp_path) as (server,):
        before = server.descriptors()
        for _ in range(5):
            client = start(server.address, program, **SHARED)
            client.kill()
            client.communicate(timeout=PATIENCE)
            wait_until(lambda: not server.children())
        assert server.descriptors() == before
        assert run_remote(server.address, PROBE, "touch", **SHARED).returncode == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_gone_in_the_middle_is_told(how: int, tmp_path: Path) -> None:
    program = """
a, p = memory(1 << 20), pinned(1 << 20)
ready()
while (status := cuda.cudaMemcpy(p, a, size(1 << 20), 2)) == 0: pass
assert status == 46, status  # cudaErrorDevicesUnavailable
assert cuda.cudaDeviceSynchronize() == 46
assert cuda.cudaFreeHost(p) in (0, 46)
"""
    with at_sockets(tmp_path) as (server,):
        client = start(server.address, program, **SHARED)
        (child,) = server.children()
        os.kill(child, how)
        told, _ = client.communicate(timeout=PATIENCE)
        if how == signal.SIGSTOP:
            os.kill(child, signal.SIGKILL)
    assert client.returncode == 0, told
    assert re.search(r"lost the GPU server unix:\S+: ", told)


def test_a_child_of_the_program_has_no_gpu_and_harms_none(tmp_path: Path) -> None:
    program = """
import os
a, p = memory(1 << 20), pinned(1 << 20)
child = os.fork()
if child == 0:
    os._exit(0 if cuda.cudaMemcpy(a, p, size(1 << 20), 1) == 3 else 1)
assert os.waitpid(child, 0)[1] == 0
assert cuda.cudaMemcpy(a, p, size(1 << 20), 1) == 0
ready()
"""
    with at_sockets(tmp_path) as (server,):
        client = start(server.address, program, **SHARED)
        assert client.communicate(timeout=PATIENCE)[0] == ""
        assert client.returncode == 0
        wait_until(lambda: not server.children())


def test_clients_at_once_do_not_see_one_another(tmp_path: Path) -> None:
    with at_sockets(tmp_path) as (server,), ThreadPoolExecutor(8) as pool:

        def one(k: int) -> subprocess.CompletedProcess[str]:
            return run_remote(server.address, PROBE, "copy", (1 + k) << 16, 5, **SHARED)

        for finished in pool.map(one, range(24)):
            assert finished.returncode == 0, finished.stderr
        wait_until(lambda: not server.children())
