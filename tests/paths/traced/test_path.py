"""What a path's calls cost, from launches and transfers; and a traced program's steps on it."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import Run, answer_of, assert_refused, only_json
from gpucast.cli import what_if
from gpucast.data.dataset import Dataset
from gpucast.data.remote_layer import SUPPORTED
from gpucast.data.traces import find_steps
from gpucast.errors import InputError
from gpucast.paths.traced import CallProgram, Operation, causes, program_of
from gpucast.paths.traced.causes import changes_of
from gpucast.paths.traced.forecast import forecast, trace_on_path
from gpucast.paths.traced.network import Network, parse_network
from gpucast.paths.traced.path import COPY_LATENCY, PathCosts, path_costs, takes_on
from gpucast.paths.traced.timeline import median_seconds, native_seconds
from made_data import dataset, launch, machine, transfer
from made_traces import MadeTrace

US = 1e-6

SEND, TURN = 3e-6, 9e-6
"""Seconds of a small message, and of an answer."""
CALL, KERNEL, COPIED, IDLE = 3.3e-6, 5.2e-6, 4e-6, 1e-6
"""Natively: of the host for a launch; until an empty kernel is waited for; of a small copy; of a
wait for nothing."""
SENDING, SERVING, COMING = 0.2e-9, 0.1e-9, 0.3e-9
"""s a byte: into the socket; at the server; back."""
SIZES = (4, 1024, 65536, 1 << 20, 1 << 24)
GATED = launch(16, [1e-5], method="gated")
"""Natively work can be held up by a flag in the host's memory."""


def records(path: str, *, rows: bool = True) -> list[dict[str, Any]]:
    """What gpucast-microbench would measure on a path of these costs, without noise."""
    native, answered = path == "native", path.endswith("sync")
    send = CALL if native else SEND
    turn = 0.0 if native else TURN
    submit = send + (turn + CALL if answered else 0)
    lines = [
        launch(1, [submit] * 7, path=path),
        launch(1, [submit + turn + CALL + KERNEL] * 7, path=path, method="sync"),
        launch(1, [send + turn + IDLE] * 7, path=path, method="idle"),
    ]
    if native:
        lines = [launch(1, [CALL] * 7), launch(1, [CALL + KERNEL] * 7, method="sync"), GATED,
                 launch(1, [IDLE] * 7, method="idle")]  # fmt: skip
    elif rows:
        lines.append(launch(16, [16 * submit] * 7, path=path, method="row"))
        lines.append(launch(16, [16 * submit + TURN] * 7, path=path, method="drain"))
        lines.append(launch(256, [256 * submit + TURN] * 7, path=path, method="drain"))
    for memory in ("pageable", "pinned"):
        for size in SIZES:
            up = send + SENDING * size + (TURN + CALL + SERVING * size if answered else 0)
            down = (0.0 if native else SEND + TURN) + COPIED + COMING * size
            lines.append(transfer("h2d", size, [up] * 7, path=path, memory=memory, method="call"))
            lines.append(transfer("d2h", size, [down] * 7, path=path, memory=memory, method="call"))
    return lines


def measured(*paths: str, **how: Any) -> Dataset:
    lines = [record for path in ("native", *paths) for record in records(path, **how)]
    return dataset([machine(), *lines])


def costs(path: str = "remote", **how: Any) -> PathCosts:
    return path_costs(measured("remote", "remote-sync", **how), path)


@pytest.mark.parametrize("path", ["remote", "remote-sync"])
def test_messages_and_answers_are_told_apart(path: str) -> None:
    times = costs(path)
    assert times.messages
    assert times.answered == (path == "remote-sync")
    if times.answered:
        # Half of what an answered launch takes beyond a native one.
        assert times.turn == pytest.approx((SEND + TURN) / 2)
    else:
        assert times.turn == pytest.approx(TURN)
        assert times.there.launch == pytest.approx(SEND)


def test_a_launch_and_its_wait_take_as_long_as_was_measured() -> None:
    """The microbenchmark's own calls as a program."""
    made = MadeTrace()
    for _ in range(40):
        made.launch("kernel", seconds=KERNEL - 3e-6, stream=20, cost=CALL)
        made.wait_stream(20)
    program = program_in(made)
    there = median_seconds(program, takes_on(program, costs()))[0]
    assert there - native_seconds(program) == pytest.approx(SEND + TURN, abs=2e-6)


def test_a_slow_server_limits_a_row() -> None:
    slow = [
        launch(16, [16 * SEND] * 7, path="remote", method="row"),
        launch(16, [16 * 5e-6 + TURN] * 7, path="remote", method="drain"),
        launch(256, [256 * 5e-6 + TURN] * 7, path="remote", method="drain"),
    ]
    lines = [*records("native"), *records("remote", rows=False), *slow]
    times = path_costs(dataset([machine(), *lines]), "remote")
    made = MadeTrace()
    for _ in range(20):
        for _ in range(50):
            made.launch("kernel", seconds=0.5e-6)
        made.copy(8, "d2h", seconds=1e-6)
    assert on(made, times).seconds == pytest.approx(50 * 5e-6, rel=0.15)
    assert on(made, costs()).seconds == pytest.approx(50 * SEND, rel=0.2)


def test_without_native_measurements_those_of_an_h200_are_taken() -> None:
    only = dataset([machine(), *records("remote")])
    times = path_costs(only, "remote")
    assert any("no native measurements" in warning for warning in times.warnings)
    assert not costs().warnings


def test_a_paths_own_machine_is_held_against_the_native_one() -> None:
    far = [{**record, "machine": "m/remote"} for record in records("remote")]
    lines = [machine(), {**machine(), "id": "m/remote"}, *records("native"), *far]
    times = path_costs(dataset(lines), "remote", machine="m/remote")
    assert times.native.launch == pytest.approx(CALL)
    assert not times.warnings


def test_a_path_without_messages_takes_what_calls_take_more_there() -> None:
    """Half of a GPU, say: each launch 2 us more, each wait 1 us, each copy back 10 us."""
    slower = {"submit": 2e-6, "sync": 3e-6, "idle": 1e-6}
    part = []
    for record in records("native"):
        more = 10e-6 if record["kind"] == "transfer" and record["route"] == "d2h" else 0.0
        more += slower.get(record.get("method", ""), 0.0)
        part.append({**record, "path": "half", "seconds": [s + more for s in record["seconds"]]})
    data = dataset([machine(), *records("native"), *part])
    times = path_costs(data, "half")
    assert not times.messages
    assert on(reading_back(2), times).extra == pytest.approx(20e-6, abs=2.5e-6)
    native = path_costs(data, "native")
    assert on(reading_back(2), native).extra == pytest.approx(0, abs=1e-9)
    with pytest.raises(InputError, match="half reaches its GPUs without a network"):
        times.over(Network(1e9, 1e-6))


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(InputError, match="no measurements of it; there are native, remote"):
        path_costs(measured("remote"), "far")
    only_transfers = [record for record in records("remote") if record["kind"] == "transfer"]
    with pytest.raises(InputError, match="no launches"):
        path_costs(dataset([machine(), *only_transfers]), "remote")
    only_launches = [record for record in records("remote") if record["kind"] == "launch"]
    with pytest.raises(InputError, match="no copies"):
        path_costs(dataset([machine(), *only_launches]), "remote")


@pytest.mark.parametrize(
    ("text", "bandwidth", "round_trip"),
    [("25Gb/s,30us", 25e9 / 8, 30e-6), ("1 GB/s, 1ms", 1e9, 1e-3), ("100Mb/s,0.5s", 12.5e6, 0.5)],
)
def test_networks_in_words(text: str, bandwidth: float, round_trip: float) -> None:
    network = parse_network(text)
    assert (network.bandwidth, network.round_trip) == pytest.approx((bandwidth, round_trip))


@pytest.mark.parametrize("text", ["", "25", "25Gb/s", "fast,30us", "25Gb/s,30", "0Gb/s,1us", "1,1"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no network such as 25Gb/s,30us"):
        parse_network(text)


# ---- steps -----------------------------------------------------------------------------------


def reading_back(reads: int = 1, launches: int = 1) -> MadeTrace:
    """Kernels of 50 us in a row, then so many scalars read back one after another."""
    made = MadeTrace()
    for _ in range(40):
        with made.range("step"):
            made.host(10e-6)
            for _ in range(launches):
                made.launch("kernel", seconds=50e-6, blocks=4096)
            for _ in range(reads):
                made.copy(8, "d2h", seconds=1e-6)
    return made


def program_in(made: MadeTrace) -> CallProgram:
    trace = made.trace()
    return program_of(trace, find_steps(trace, "step" if trace.processes[0].ranges.size else None))


def on(made: MadeTrace, path: PathCosts) -> Any:
    return forecast(program_in(made), path)


def test_each_read_back_costs_a_round_trip() -> None:
    """The slope of a step over a network's round trip is how often it is waited for."""
    near, far = (costs().over(Network(1e12, delay)) for delay in (0.0, 100e-6))
    for reads in (1, 3, 6):
        made = reading_back(reads)
        slope = (on(made, far).seconds - on(made, near).seconds) / 100e-6
        assert slope == pytest.approx(reads, abs=0.05)


def test_launches_hide_behind_kernels_unless_each_is_answered() -> None:
    one, many = (on(reading_back(1, count), costs()) for count in (1, 20))
    assert many.extra == pytest.approx(one.extra, abs=2e-6)
    # 20 round trips of 12 us, which the kernels' 1000 us hide; not without them.
    answered = on(reading_back(1, 20), costs("remote-sync"))
    assert answered.extra < 20e-6
    made = MadeTrace()
    for _ in range(40):
        for _ in range(50):
            made.launch("kernel", seconds=0.5e-6)
        made.copy(8, "d2h", seconds=1e-6)
    answered = 50 * (SEND + TURN + CALL)
    assert on(made, costs("remote-sync")).seconds == pytest.approx(answered, rel=0.05)
    assert on(made, costs()).seconds == pytest.approx(50 * SEND, rel=0.2)


def test_bytes_go_over_the_line() -> None:
    made = MadeTrace()
    for _ in range(40):
        made.copy(1_000_000, "h2d", memory="pinned", blocking=False, stream=20)
        made.wait_stream(20)
    slow = on(made, costs().over(Network(1e8, 0.0)))
    assert slow.seconds == pytest.approx(0.01, rel=0.03)


def test_pinned_bytes_do_not_travel_through_shared_memory() -> None:
    """Two streams, each a copy of 16 MiB: the host asks for both at once, as natively."""
    made = MadeTrace()
    for _ in range(40):
        for stream in (20, 21):
            made.copy(1 << 24, "h2d", memory="pinned", blocking=False, stream=stream)
        made.wait_stream(20)
        made.wait_stream(21)
    lines = [
        {**record, "machine": "m" if record["path"] == "native" else "shm"}
        for path in ("native", "remote")
        for record in records(path)
    ]
    server = machine(name="shm")
    known = {
        transport: path_costs(
            dataset([machine(), {**server, "transport": transport}, *lines]), "remote"
        )
        for transport in ("shm", "tls")
    }
    shared, sent = (on(made, known[transport]) for transport in ("shm", "tls"))
    assert shared.seconds - shared.native < 4 * (SEND + TURN)
    assert sent.seconds - sent.native > SENDING * (1 << 24)


def test_a_memset_takes_its_server_what_it_took_the_driver() -> None:
    made = MadeTrace()
    for _ in range(40):
        made.set(1000, stream=20)
        made.launch("kernel", seconds=KERNEL, stream=20, cost=CALL)
        made.wait_stream(20)
    program = program_in(made)
    takes = takes_on(program, costs())
    sets = program.operation == Operation.set
    slower = [launch(16, [16 * SEND] * 7, path="remote", method="row"),
              launch(16, [16 * 6e-6 + TURN] * 7, path="remote", method="drain"),
              launch(256, [256 * 6e-6 + TURN] * 7, path="remote", method="drain")]  # fmt: skip
    few = [*records("native"), *records("remote", rows=False), *slower]
    on_slower = takes_on(program, path_costs(dataset([machine(), *few]), "remote"))
    assert takes.serve[sets, 0] == pytest.approx(np.minimum(program.cost[sets], SEND))
    more = 6e-6 - CALL
    assert on_slower.serve[sets, 0] == pytest.approx(np.minimum(program.cost[sets] + more, 6e-6))


def test_what_a_copy_is_staged_through_is_not_waited_for_twice() -> None:
    made = MadeTrace()
    for _ in range(40):
        made.launch("kernel", seconds=KERNEL, cost=CALL)
        made.copy(1 << 20, "d2h")
    program = program_in(made)
    staged = replace(program, tail=np.where(program.blocking != 0, 50e-6, 0.0))
    assert takes_on(staged, costs()).tail == pytest.approx(COPY_LATENCY)


def test_the_answer_names_what_costs_and_what_helps() -> None:
    forecast = on(reading_back(8), costs())
    first = forecast.causes[0]
    assert first.words == "blocking copies from the GPU of 8 B, pageable memory"
    assert first.per_step == pytest.approx(8)
    assert first.share > 0.8
    assert forecast.helps[0].words.startswith("read back into pinned memory")
    assert forecast.helps[0].seconds < forecast.seconds - 5 * TURN


def test_the_interval_grows_with_what_is_not_native() -> None:
    """90 % of a normal distribution are 1.645 standard deviations to either side."""
    for reads in (1, 8):
        forecast = on(reading_back(reads), costs())
        sd = np.sqrt(0.055**2 + 0.11**2 * (1 - forecast.native / forecast.seconds))
        assert np.log([forecast.low, forecast.high]) - np.log(forecast.seconds) == pytest.approx(
            [-1.645 * sd, 1.645 * sd], rel=1e-3
        )


def test_pageable_copies_are_made_from_pinned_memory_by_servers() -> None:
    program = program_in(reading_back())
    takes = takes_on(program, costs())
    copies = program.operation == Operation.copy
    assert (takes.seconds[copies, 0] <= program.seconds[copies]).all()


def test_the_slowest_process_counts() -> None:
    other = reading_back(2)
    forecast = trace_on_path(
        reading_back(1).trace(other), measured("remote", "remote-sync"), "remote"
    )
    alone = trace_on_path(other.trace(), measured("remote", "remote-sync"), "remote")
    assert forecast.seconds == pytest.approx(alone.seconds)
    assert any("2 processes" in warning for warning in forecast.warnings)


def test_graphs_are_not_refused_and_calls_that_are_not_offered_are() -> None:
    made = MadeTrace()
    for _ in range(20):
        made.graph([("a", 20e-6)], stream=20)
        made.wait_stream(20)
    forecast = trace_on_path(made.trace(), measured("remote"), "remote")
    assert forecast.refused == ()
    assert "cudaGraphLaunch" in SUPPORTED
    assert "cudaMallocManaged" not in SUPPORTED
    assert any("CUDA graphs are taken for one launch" in warning for warning in forecast.warnings)


def test_what_gpucasts_remote_gpus_refuse_other_layers_may_do() -> None:
    made = MadeTrace()
    for _ in range(20):
        made.call("cudaMallocManaged", cost=1e-6)
        made.launch("kernel", seconds=20e-6, stream=20)
        made.wait_stream(20)
    lines = [*records("native"), *records("remote")]
    lines += [{**record, "path": "my layer"} for record in records("remote")]
    data = dataset([{**machine(), "tool": {"name": "gpucast-microbench", "version": "1"}}, *lines])
    ours, other = (trace_on_path(made.trace(), data, path) for path in ("remote", "my layer"))
    assert ours.refused == ("cudaMallocManaged",)
    assert other.refused == ()
    assert other.seconds == pytest.approx(ours.seconds)


def test_what_calls_cost_adds_up_to_the_extra() -> None:
    """So for every program, however its calls hide behind one another."""
    sending = MadeTrace()
    for _ in range(40):
        sending.copy(8_000_000, "h2d", memory="pinned", blocking=False, stream=20)
        sending.copy(8_000_000, "d2h", memory="pinned", blocking=False, stream=21)
        sending.wait_stream(20)
        sending.wait_stream(21)
    for made in (reading_back(1), reading_back(8), sending):
        forecast = on(made, costs())
        assert sum(cause.seconds for cause in forecast.causes) == pytest.approx(
            forecast.extra, abs=0.03 * abs(forecast.extra)
        )
        assert sum(cause.share for cause in forecast.causes) == pytest.approx(1, abs=0.03)
        assert all(
            (cause.seconds < 0) == cause.words.startswith("less: ") for cause in forecast.causes
        )
    assert forecast.causes[0].words == "asynchronous copies to the GPU of 8 MB, pinned memory"


@pytest.mark.parametrize("saved", [0.0, 150e-6, 299e-6, 400e-6])
def test_shares_of_costs_are_of_what_is_added_however_much_is_saved(
    saved: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """200 and 100 us more, and so much less: of the little that remains they are 20,000 %."""
    forecast = on(reading_back(1), costs())
    program = program_in(reading_back(1))
    parts = [program.operation == Operation.launch, program.operation == Operation.copy]
    native, extra = 1e-3, 300e-6 - saved
    monkeypatch.setattr(causes, "_kinds", lambda *_: parts)
    monkeypatch.setattr(causes, "_shared_out", lambda *_: ([200e-6, 100e-6], native - saved))
    made = causes.causes_of(program, costs(), native + extra, native)
    assert [cause.share for cause in made[:2]] == pytest.approx([2 / 3, 1 / 3])
    assert all(cause.share == 0 for cause in made[2:])
    seconds = native + extra
    what_if.show(replace(forecast, causes=made, native=native, seconds=seconds, replayed=native))
    table = [line for line in capsys.readouterr().out.splitlines() if line.endswith("%")]
    assert [line.split()[-2:] for line in table] == [["67", "%"], ["33", "%"]]


def test_joined_kernels_are_of_one_step() -> None:
    """A kernel a step has none to be joined with, nor one that is waited for."""
    one, two = MadeTrace(), MadeTrace()
    for _ in range(20):
        one.launch("kernel", seconds=50e-6, stream=20)
        one.wait_stream(20)
        for _ in range(2):
            two.launch("kernel", seconds=50e-6, stream=20)
            two.wait_stream(20)
    for made in (one, two):
        program = program_in(made)
        joined = changes_of(program).get("join kernels two by two", program)
        assert len(joined) == len(program)


# ---- the command -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    reading_back(4).write(tmp_path / "T")
    lines = [machine(), *records("remote"), *records("remote-sync")]
    whole = [{"schema": "gpucast.record/1", **line} for line in lines]
    (tmp_path / "far.jsonl").write_text("".join(json.dumps(line) + "\n" for line in whole))
    return tmp_path / "T", tmp_path / "far.jsonl"


def test_what_if_of_a_trace(run: Run, files: tuple[Path, Path]) -> None:
    trace, data = files
    status, out, _ = run("what-if", trace, "--path", "remote", "--data", data)
    assert status == 0
    assert "A step on remote: " in out
    assert "blocking copies from the GPU of 8 B, pageable memory" in out
    assert "What would help" in out


def test_what_if_of_a_trace_as_json(run: Run, files: tuple[Path, Path]) -> None:
    trace, data = files
    command = ("what-if", trace, "--range", "step", "--path", "remote", "--data", data, "--json")
    far = answer_of(run(*command, "--network", "25Gb/s,300us"))
    assert far["path"] == "remote over 25 Gb/s, round trip 300 us"
    near = only_json(run(*command)[1])
    assert far["seconds"] - near["seconds"] == pytest.approx(4 * 300e-6, rel=0.1)
    assert near["low"] < near["seconds"] < near["high"]
    assert near["replayed"] == pytest.approx(near["native"], rel=0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--path: which path"),
        (("--path", "remote"), "--data: a dataset"),
        (("--path", "native", "--data", "DATA"), "--path: "),
        (("--path", "far", "--data", "DATA"), "--path: no measurements of it"),
        (("--path", "remote", "--data", "DATA", "--network", "fast"), "--network: 'fast' is no"),
        (("--path", "remote", "--data", "DATA", "--range", "none"), "--range none"),
        (
            ("--path", "remote", "--data", "DATA", "--memory", "pinned"),
            "--memory: is for model files",
        ),
        (
            ("--path", "remote", "--data", "DATA", "--launch", "keep"),
            "--launch: is for model files",
        ),
        (("--path", "remote", "--data", "DATA", "-n", "5"), "-n: is for a model of several traces"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    run: Run, files: tuple[Path, Path], options: tuple[str, ...], said: str
) -> None:
    trace, data = files
    given = [str(data) if word == "DATA" else word for word in options]
    assert_refused(run("what-if", trace, *given), said)


def test_options_of_traces_are_refused_for_models(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_text("{}")
    assert_refused(run("what-if", model, "--network", "25Gb/s,30us"), "--network: is for traces")
    assert_refused(run("what-if", model), f"{model}: is no model file")


def test_a_trace_whose_calls_are_missing_is_refused(
    run: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    trace, data = files
    folder = tmp_path / "without calls"
    with zipfile.ZipFile(trace) as archive:
        archive.extractall(folder)
    (folder / "0" / "calls.arrows").unlink()
    for command in (
        ("trace", "show", folder),
        ("what-if", folder, "--path", "remote", "--data", data),
    ):
        assert_refused(run(*command), "no repeating step")


def test_calls_of_a_trace_are_written(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    trace, _ = files
    target = tmp_path / "calls.jsonl"
    status, out, _ = run("trace", "calls", trace, "--range", "step", "--steps", "12", "-o", target)
    assert status == 0
    assert "12 steps, 60 calls" in out
    head, *lines = target.read_text().splitlines()
    assert json.loads(head)["steps"] == 12
    assert len(lines) == 60
    assert run("trace", "calls", trace, "--range", "step", "-o", target)[0] == 2
