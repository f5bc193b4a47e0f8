"""gpucast's own programs over remote GPUs and the fake driver: the binaries that run natively."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from remote_servers import PROBE, addresses, built, fake_kernels, run_remote, servers
from slow_network import slow_network

MDAPP = built("..", "mdapp", "gpucast-mdapp")
MICROBENCH = built("..", "microbench", "gpucast-microbench")
TRACED = built("..", "trace", "programs")
KERNELS = built("..", "tests", "remote_kernels")

pytestmark = pytest.mark.skipif(
    not KERNELS.exists() or not MDAPP.exists() or not MICROBENCH.exists(),
    reason=f"no {KERNELS}, {MDAPP} or {MICROBENCH}",
)


def kernels_of(program: str) -> dict[str, str]:
    return {"GPUCAST_FAKE_KERNELS": str(*fake_kernels(program))}


def once() -> tuple[object, ...]:
    """Options so that the program does not run itself again, if it would."""
    told = subprocess.run([MICROBENCH, "measure", "--help"], capture_output=True, text=True)
    return ("--fresh", 0) if "--fresh" in told.stdout else ()


def records(path: Path, kind: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return [record for record in lines if record["kind"] == kind]


@pytest.mark.parametrize(
    ("schedule", "graph"),
    [("star-serial", ()), ("star-async", ()), ("star-async", ("--graph",))],
)
def test_trajectories_are_the_same_to_the_last_bit(
    schedule: str, graph: tuple[str, ...], tmp_path: Path
) -> None:
    """The fake GPU's kernel is the CPU devices' own: so is the trajectory."""
    run = ("simulate", "--n", 216, "--steps", 20, "--every", 5, "--gpus", 3, "--force")
    run += ("--schedule", schedule, "--kernel", "claret", "--trajectory")
    here, there = tmp_path / "host.xyz", tmp_path / "remote.xyz"
    local = [MDAPP, *run, here, "--engine", "host", "--host-devices", 3]
    subprocess.run([str(word) for word in local], check=True, capture_output=True)
    with servers(3, **kernels_of("mdapp")) as running:
        finished = run_remote(addresses(running), MDAPP, *run, there, "--engine", "cuda", *graph)
    assert finished.returncode == 0, finished.stderr
    assert "lattice" in here.read_text().lower()
    assert here.read_bytes() == there.read_bytes()


def test_a_step_takes_one_round_trip_a_gpu(tmp_path: Path) -> None:
    counted = []
    with servers(2, **kernels_of("mdapp")) as running:
        for steps in (50, 150):
            counters = tmp_path / f"counters{steps}.jsonl"
            finished = run_remote(
                addresses(running), MDAPP, "measure", "--engine", "cuda", "--n", 216,
                "--gpus", 2, "--schedule", "star-async", "--steps", steps, "--warm-up", 0,
                "--quiet", "-o", tmp_path / "steps.jsonl", "--force",
                GPUCAST_REMOTE_COUNTERS=str(counters),
            )  # fmt: skip
            assert finished.returncode == 0, finished.stderr
            lines = [json.loads(line) for line in counters.read_text().splitlines()]
            (launches,) = (line["calls"] for line in lines if line["entry"] == "cudaLaunchKernel")
            counted.append((launches, sum(line["round_trips"] for line in lines)))
    (step,) = records(tmp_path / "steps.jsonl", "step")
    assert len(step["seconds"]) == 150
    # A step launches one kernel on each GPU; those before the timed ones are steps, too.
    launches = counted[1][0] - counted[0][0]
    assert launches >= 200
    assert counted[1][1] - counted[0][1] == launches


def test_microbench_measures_what_there_is_and_notes_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with servers(2, **kernels_of("microbench")) as running:
        finished = run_remote(
            addresses(running), MICROBENCH, "measure", "--engine", "cuda", "--path", "remote",
            "--largest", 16384, "--loop-bytes", 65536, "--budget", 0, "--interval", 0.5,
            "--quiet", "-o", path, *once(), timeout=600,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stderr
    transfers = records(path, "transfer")
    assert {t["route"] for t in transfers} >= {"h2d", "d2h", "staged"}
    assert all(t["valid"] and t["path"] == "remote" for t in transfers)
    methods = {launch["method"] for launch in records(path, "launch")}
    assert methods == {"submit", "sync", "row", "drain", "idle", "rest", "graph"}
    notes = " ".join(note["text"] for note in records(path, "note"))
    assert "the devices do not reach the host's memory" in notes
    (machine,) = records(path, "machine")
    assert [gpu["name"] for gpu in machine["gpus"]] == ["fake GPU 0", "fake GPU 1"]
    assert machine["transport"] == "tls"


def test_microbench_check_names_what_it_cannot_ask_of_remote_gpus() -> None:
    with servers(1, **kernels_of("microbench")) as running:
        finished = run_remote(addresses(running), MICROBENCH, "check", "--engine", "cuda")
    lines = finished.stdout.splitlines()
    skipped = [line for line in lines if line.startswith("skipped ")]
    assert len(skipped) == 2
    assert all(line.endswith(": the devices do not reach the host's memory") for line in skipped)
    assert lines[-1].endswith(" passed, 0 failed, 2 skipped"), finished.stdout


@pytest.mark.parametrize(
    ("program", "sizes", "gpus", "cells"),
    [
        ("conjugate_gradients", "256,1024", "1", 2),
        ("graph", "5,50", "1", 2),
        ("halo_exchange", "256,1024", "1-3", 12),
        ("histogram", "5,1000", "1", 4),
        ("many_kernels", "1,50", "1-2", 4),
        ("pageable_copies", "1,70000", "1", 2),
        ("pipeline", "1,300", "1", 2),
        ("streams", "1,20", "1", 4),
    ],
)
def test_small_programs_find_their_results_right(
    program: str, sizes: str, gpus: str, cells: int, tmp_path: Path
) -> None:
    """Each compares what came back with what the host computes, and records no wrong cell."""
    if not (TRACED / program).exists():
        pytest.skip(f"no {TRACED / program}")
    path = tmp_path / "records.jsonl"
    several = () if gpus == "1" else ("--gpus", gpus)
    with servers(3, **kernels_of("trace_programs")) as running:
        finished = run_remote(
            addresses(running), TRACED / program, "--n", sizes, *several, "--steps", 4,
            "--warm-up", 0, "--path", "remote", "-o", path,
        )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    steps = records(path, "step")
    assert len(steps) == cells
    assert all(len(step["seconds"]) == 4 and step["path"] == "remote" for step in steps)
    assert {step["program"].replace("-", "_") for step in steps} == {program}


def test_a_small_program_says_what_is_wrong_with_its_input(tmp_path: Path) -> None:
    grid = TRACED / "conjugate_gradients"
    if not grid.exists():
        pytest.skip(f"no {grid}")
    with servers(1, **kernels_of("trace_programs")) as running:
        finished = run_remote(
            addresses(running), grid, "--n", 200, "-o", tmp_path / "records.jsonl"
        )
    assert finished.returncode == 2
    assert finished.stderr.splitlines() == [
        "conjugate-gradients: error: --n: 200 is not the square of a number from 16 to 32768"
    ]
    assert not (tmp_path / "records.jsonl").exists()


@pytest.mark.parametrize(
    ("listen", "variables", "path"),
    [
        ("127.0.0.1:0", {}, "remote"),
        ("127.0.0.1:0", {"GPUCAST_REMOTE_SYNC": "1"}, "remote-sync"),
        ("unix:{}/gpu", {}, "remote-shm"),
        ("unix:{}/gpu", {"GPUCAST_REMOTE_TRANSPORT": "socket"}, "remote"),
    ],
)
def test_records_say_that_the_gpus_were_remote(
    listen: str, variables: dict[str, str], path: str, tmp_path: Path
) -> None:
    measure = ("measure", "--n", 64, "--steps", 3, "--warm-up", 0, "--schedule", "star-async")
    measure += ("--kernel", "claret", "--quiet", "-o")
    labelled, usual = tmp_path / "labelled.jsonl", tmp_path / "usual.jsonl"
    launches = tmp_path / "launches.jsonl"
    asked = ("measure", "--what", "launches", "--budget", 0, *once(), "--quiet", "-o", launches)
    server = servers(1, "--listen", listen.format(tmp_path), **kernels_of("mdapp"))
    with server as (one,):
        for words in ((*measure, usual), (*measure, labelled, "--path", "mine")):
            finished = run_remote(one.address, MDAPP, *words, **variables)
            assert finished.returncode == 0, finished.stderr
    server = servers(1, "--listen", listen.format(tmp_path), **kernels_of("microbench"))
    with server as (one,):
        finished = run_remote(one.address, MICROBENCH, *asked, **variables)
        assert finished.returncode == 0, finished.stderr
    assert {step["path"] for step in records(usual, "step")} == {path}
    assert {step["path"] for step in records(labelled, "step")} == {"mine"}
    assert {record["path"] for record in records(launches, "launch")} == {path}


STREAMS = [{"device": gpu, "flags": kind} for gpu, kind in ((0, 3), (0, 2), (1, 1))]
HEAD = {"schema": "gpucast.calls/1", "steps": 3, "threads": 2, "devices": 2, "events": 2}
ON_FIRST = {"thread": 0, "device": 0, "stream": 1}
ON_SECOND = {"thread": 1, "device": 1, "stream": 2}
STEP = [
    {**ON_FIRST, "operation": "copy", "direction": "h2d", "bytes": 70000, "memory": "pinned"},
    {**ON_FIRST, "operation": "launch", "busy": 1e-4},
    {**ON_FIRST, "operation": "record", "event": 0},
    {**ON_SECOND, "operation": "set", "bytes": 16},
    {**ON_SECOND, "operation": "wait_stream_event", "event": None},
    {**ON_SECOND, "operation": "record", "event": 1},
    {**ON_SECOND, "operation": "copy", "direction": "peer", "bytes": 100},
    {**ON_SECOND, "operation": "sync_event", "event": 1},
    {"thread": 1, "device": 1, "operation": "alloc", "bytes": 1000},
    {"thread": 1, "device": 1, "operation": "free"},
    {**ON_FIRST, "operation": "wait_stream_event", "event": 0},
    {**ON_FIRST, "operation": "query"},
    {**ON_FIRST, "operation": "copy", "direction": "d2h", "bytes": 4, "memory": "pageable",
     "blocking": True, "stream": 0},
    {**ON_FIRST, "operation": "sync_stream"},
    {"thread": 0, "device": 0, "operation": "other", "cost": 1e-6},
    {"thread": 0, "device": 0, "operation": "sync_device"},
]  # fmt: skip


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_traced_programs_calls_are_made_on_another_path(
    synchronous: bool, tmp_path: Path
) -> None:
    """All kinds of calls by two threads on two GPUs; a pass of three steps gives two times."""
    calls, path = tmp_path / "program-n5.jsonl", tmp_path / "records.jsonl"
    lines = [
        {**HEAD, "streams": STREAMS},
        *({**call, "gap": 1e-6, "step": step} for step in range(3) for call in STEP),
    ]
    calls.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with servers(2, **kernels_of("microbench")) as running:
        finished = run_remote(
            addresses(running), MICROBENCH, "skeleton", "--engine", "cuda", "--trace", calls,
            "--max-time", 0.01, "--warm-up", 0, "--path", "remote", "-o", path,
            GPUCAST_REMOTE_SYNC=str(int(synchronous)),
        )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    (step,) = records(path, "step")
    named = [step[key] for key in ("program", "case", "n", "unit", "gpus", "path")]
    assert named == ["skeleton", "program-n5", len(STEP), "calls", 2, "remote"]
    assert len(step["seconds"]) % 2 == 0
    assert min(step["seconds"]) >= 1e-4


def test_a_copy_costs_a_round_trip_and_its_bytes_where_every_call_is_waited_for(
    tmp_path: Path,
) -> None:
    """What it costs at least, over a network that is known; and how often that is paid."""
    delay, bandwidth, times = 20e-3, 60e6, 5
    sizes = (64, 262144, 1 << 20, 2 << 20)
    counters = tmp_path / "counters.jsonl"
    with servers() as (server,), slow_network(server.address, bandwidth, delay) as address:
        finished = run_remote(
            address, PROBE, "copies", times, *sizes,
            GPUCAST_REMOTE_SYNC="1", GPUCAST_REMOTE_COUNTERS=str(counters),
        )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    routes = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [(entry["route"], entry["bytes"]) for entry in routes] == [
        (route, size) for route in ("h2d", "d2h") for size in sizes
    ]
    for entry in routes:
        assert min(entry["seconds"]) >= 2 * delay + entry["bytes"] / bandwidth
    lines = [json.loads(line) for line in counters.read_text().splitlines()]
    (copies,) = (line for line in lines if line["entry"] == "cudaMemcpy")
    payload = copies["calls"] // (2 * len(sizes)) * sum(sizes)
    assert copies["round_trips"] == copies["calls"] >= 2 * times * len(sizes)
    assert payload <= copies["bytes_sent"] < payload * 1.01
    assert payload <= copies["bytes_received"] < payload * 1.01


@pytest.mark.parametrize("program", [MDAPP, MICROBENCH])
@pytest.mark.parametrize("engine", [(), ("--engine", "cuda")])
def test_programs_do_not_compute_elsewhere_where_servers_do_not_answer(
    program: Path, engine: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    what = ("--n", 216) if program == MDAPP else ()
    finished = run_remote("127.0.0.1:1", program, "measure", *what, *engine, "-o", path)
    assert finished.returncode == 2
    (told, error) = finished.stderr.splitlines()
    assert told == "gpucast remote: 127.0.0.1:1: Connection refused"
    assert "127.0.0.1:1" in error or "--engine cuda" in error
    assert "the remote GPU or its server is not available" in error
    assert not path.exists()


@pytest.mark.parametrize("program", [MDAPP, MICROBENCH])
def test_programs_do_not_compute_elsewhere_without_the_client(
    program: Path, tmp_path: Path
) -> None:
    """Another runtime than the client's would take this machine's GPUs for the servers'."""
    what = ("--n", 216) if program == MDAPP else ()
    finished = run_remote(
        "127.0.0.1:1", program, "measure", *what, "-o", tmp_path / "o", LD_LIBRARY_PATH=""
    )
    assert finished.returncode == 2
    assert "gpucast remote run starts programs" in finished.stderr
