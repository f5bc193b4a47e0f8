"""What a path's calls cost, from launches and transfers; and a traced program's steps on it."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import Run, only_json
from gpucast.cli import what_if
from gpucast.data.dataset import Dataset
from gpucast.data.remote_layer import SUPPORTED
from gpucast.data.traces import find_steps
from gpucast.errors import InputError
from gpucast.paths.replay import Operation, causes, program_of
from gpucast.paths.replay.causes import _Item
from gpucast.paths.replay.forecast import forecast, trace_on_path
from gpucast.paths.replay.helps import changes_of
from gpucast.paths.replay.network import Network, parse_network
from gpucast.paths.replay.path import PathCosts, forwarded, path_costs
from gpucast.paths.replay.program import Memory
from made_data import dataset, launch, machine, transfer
from made_traces import MadeTrace

US = 1e-6
REPOSITORY = Path(__file__).parents[3]

SEND, TURN = 3e-6, 9e-6
"""Seconds of a small message, and of an answer."""
SENDING, SERVING, COMING = 0.2e-9, 0.1e-9, 0.3e-9
"""s a byte: into the socket; at the server; back."""
SIZES = (4, 1024, 65536, 1 << 20, 1 << 24)


def records(path: str, *, rows: bool = True) -> list[dict[str, Any]]:
    """What gpucast-microbench would measure on a path of these costs, without noise."""
    answered = path.endswith("sync")
    submit = SEND + (TURN if answered else 0)
    found = [
        launch(1, [submit] * 7, path=path),
        launch(1, [submit + SEND + TURN] * 7, path=path, method="sync"),
    ]
    if rows and not answered:
        found.append(launch(16, [16 * SEND] * 7, path=path, method="row"))
        found.append(launch(16, [16 * SEND + TURN] * 7, path=path, method="drain"))
        found.append(launch(256, [256 * SEND + TURN] * 7, path=path, method="drain"))
    for memory in ("pageable", "pinned"):
        for size in SIZES:
            up = SEND + SENDING * size + (TURN + SERVING * size if answered else 0)
            down = SEND + TURN + 4e-6 + COMING * size
            found.append(transfer("h2d", size, [up] * 7, path=path, memory=memory, method="call"))
            found.append(transfer("d2h", size, [down] * 7, path=path, memory=memory, method="call"))
    return found


def measured(*paths: str, **how: Any) -> Dataset:
    return dataset([machine(), *(each for path in paths for each in records(path, **how))])


def costs(path: str = "remote", **how: Any) -> PathCosts:
    return path_costs(measured("remote", "remote-sync", **how), path)


@pytest.mark.parametrize("path", ["remote", "remote-sync"])
def test_messages_and_answers_are_told_apart(path: str) -> None:
    found = costs(path)
    assert found.synchronous == (path == "remote-sync")
    assert found.send.launch == pytest.approx(SEND)
    # Rows of launches say that a server makes one every SEND; the rest of an answer is on its way.
    assert found.serve + found.driver == pytest.approx(SEND)
    assert found.turn == pytest.approx(TURN - SEND)


def test_bytes_are_the_hosts_and_the_servers() -> None:
    found = costs()
    size = np.array([65536.0, 1 << 20])
    assert found.up[Memory.pinned].at(size) == pytest.approx(SEND + SENDING * size)
    assert found.served is not None
    beyond = found.served.at(size) - found.served.least
    assert beyond == pytest.approx((SENDING + SERVING) * size, rel=1e-3)


def test_without_answered_launches_an_answer_is_told_by_a_synchronization() -> None:
    found = path_costs(measured("remote"), "remote")
    # Beside sending a launch, T has m = 0.2 us, 4.8 us of the GPU, an answer and a tail.
    assert found.turn + found.tail == pytest.approx(TURN + SEND - 5e-6)
    assert any("an answer" in each for each in found.warnings)


def test_launches_of_a_row_tell_what_one_of_many_costs() -> None:
    assert not any("a row" in each for each in costs().warnings)
    assert any("a row" in each for each in costs(rows=False).warnings)


def test_a_wait_for_nothing_is_an_answer_and_a_rest_makes_the_server_sleep() -> None:
    idle = launch(1, [SEND + 7e-6] * 7, path="remote", method="idle")
    rest = launch(1, [SEND + 62e-6] * 7, path="remote", method="rest")
    found = path_costs(dataset([machine(), *records("remote"), idle, rest]), "remote")
    # m = 0.2 us and the event's 0.7 us are the server's.
    assert found.turn + found.tail == pytest.approx(6.1e-6)
    assert found.wake_server == pytest.approx(55e-6)


def test_a_slow_server_limits_a_row() -> None:
    slow = [
        launch(16, [16 * SEND] * 7, path="remote", method="row"),
        launch(16, [16 * 5e-6 + TURN] * 7, path="remote", method="drain"),
        launch(256, [256 * 5e-6 + TURN] * 7, path="remote", method="drain"),
    ]
    found = path_costs(dataset([machine(), *records("remote", rows=False), *slow]), "remote")
    assert found.serve + found.driver == pytest.approx(5e-6)


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(InputError, match="no measurements of it; there are remote"):
        path_costs(measured("remote"), "far")
    only_transfers = [each for each in records("remote") if each["kind"] == "transfer"]
    with pytest.raises(InputError, match="no launches"):
        path_costs(dataset([machine(), *only_transfers]), "remote")
    only_launches = [each for each in records("remote") if each["kind"] == "launch"]
    with pytest.raises(InputError, match="no copies"):
        path_costs(dataset([machine(), *only_launches]), "remote")


@pytest.mark.parametrize(
    ("text", "bandwidth", "round_trip"),
    [("25Gb/s,30us", 25e9 / 8, 30e-6), ("1 GB/s, 1ms", 1e9, 1e-3), ("100Mb/s,0.5s", 12.5e6, 0.5)],
)
def test_networks_in_words(text: str, bandwidth: float, round_trip: float) -> None:
    found = parse_network(text)
    assert (found.bandwidth, found.round_trip) == pytest.approx((bandwidth, round_trip))


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


def on(made: MadeTrace, path: PathCosts, draws: int = 20) -> Any:
    trace = made.trace()
    steps = find_steps(trace, "step" if trace.processes[0].ranges.size else None)
    return forecast(program_of(trace, steps), path, draws=draws)


def test_each_read_back_costs_a_round_trip() -> None:
    """The slope of a step over a network's round trip is how often it is waited for."""
    near, far = (costs().over(Network(1e12, each)) for each in (0.0, 100e-6))
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
    assert on(made, costs("remote-sync")).seconds == pytest.approx(50 * (SEND + TURN), rel=0.05)
    assert on(made, costs()).seconds == pytest.approx(50 * SEND, rel=0.2)


def test_bytes_go_over_the_line() -> None:
    made = MadeTrace()
    for _ in range(40):
        made.copy(1_000_000, "h2d", memory="pinned", blocking=False, stream=20)
        made.wait_stream(20)
    slow = on(made, costs().over(Network(1e8, 0.0)))
    assert slow.seconds == pytest.approx(0.01, rel=0.03)


def test_the_answer_names_what_costs_and_what_helps() -> None:
    found = on(reading_back(8), costs())
    first = found.causes[0]
    assert first.words == "blocking copies from the GPU of 8 B, pageable memory"
    assert first.per_step == pytest.approx(8)
    assert first.share > 0.8
    assert found.helps[0].words.startswith("read back into pinned memory")
    assert found.helps[0].seconds < found.seconds - 5 * TURN


def test_the_interval_holds_the_forecast_and_is_as_wide_as_visits_differ() -> None:
    found = on(reading_back(4), costs(), draws=100)
    assert found.low < found.seconds < found.high
    assert 0.05 < (found.high - found.low) / found.seconds < 0.3


def test_few_draws_give_an_interval_too() -> None:
    from gpucast.paths.replay import forecast as module

    before = module.MOST_CALLS
    try:
        module.MOST_CALLS = 1
        found = on(reading_back(4), costs(), draws=100)
    finally:
        module.MOST_CALLS = before
    assert found.low < found.seconds < found.high


def test_pageable_copies_become_those_of_the_servers_rings() -> None:
    trace = reading_back().trace()
    program = program_of(trace, find_steps(trace))
    there, messages = forwarded(program, costs())
    copies = program.operation == Operation.copy
    assert (there.seconds[copies] <= program.seconds[copies]).all()
    assert messages.times.shape == (9, len(program))
    assert (messages.times >= 0).all()


def test_processes_are_simulated_each() -> None:
    other = reading_back(2)
    found = trace_on_path(reading_back(1).trace(other), measured("remote", "remote-sync"), "remote")
    alone = trace_on_path(other.trace(), measured("remote", "remote-sync"), "remote")
    assert found.seconds == pytest.approx(alone.seconds)
    assert any("2 processes" in each for each in found.warnings)


def test_graphs_are_not_refused_and_calls_that_are_not_offered_are() -> None:
    made = MadeTrace()
    for _ in range(20):
        made.graph([("a", 20e-6)], stream=20)
        made.wait_stream(20)
    found = trace_on_path(made.trace(), measured("remote"), "remote")
    assert found.refused == ()
    assert "cudaGraphLaunch" in SUPPORTED
    assert "cudaMallocManaged" not in SUPPORTED
    assert any("CUDA graphs are taken for one launch" in each for each in found.warnings)


def test_what_calls_cost_adds_up_to_the_extra() -> None:
    """So for every program, however its calls hide behind one another."""
    sending = MadeTrace()
    for _ in range(40):
        sending.copy(8_000_000, "h2d", memory="pinned", blocking=False, stream=20)
        sending.copy(8_000_000, "d2h", memory="pinned", blocking=False, stream=21)
        sending.wait_stream(20)
        sending.wait_stream(21)
    for made in (reading_back(1), reading_back(8), sending):
        found = on(made, costs())
        assert sum(each.seconds for each in found.causes) == pytest.approx(
            found.extra, abs=0.03 * abs(found.extra)
        )
        assert sum(each.share for each in found.causes) == pytest.approx(1, abs=0.03)
        assert all((each.seconds < 0) == each.words.startswith("less: ") for each in found.causes)
    assert found.causes[0].words == "large copies: 8 MB to GPUs, 8 MB back"


@pytest.mark.parametrize("saved", [0.0, 150e-6, 299e-6, 400e-6])
def test_shares_of_costs_are_of_what_is_added_however_much_is_saved(
    saved: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """200 and 100 us more, and so much less: of the little that remains they are 20,000 %."""
    found = on(reading_back(1), costs())
    parts = [_Item("calls", 1.0, np.zeros(0, bool)), _Item("copies", 1.0, np.zeros(0, bool))]
    native, extra = 1e-3, 300e-6 - saved
    monkeypatch.setattr(causes, "_items", lambda *_: parts)
    monkeypatch.setattr(causes, "_shared_out", lambda *_: ([200e-6, 100e-6], native - saved))
    made = causes.causes_of(found, costs(), native + extra, native)  # type: ignore[arg-type]
    assert [each.share for each in made[:2]] == pytest.approx([2 / 3, 1 / 3])
    assert all(each.share == 0 for each in made[2:])
    seconds = native + extra
    what_if.show(replace(found, causes=made, native=native, seconds=seconds, replayed=native))
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
        trace = made.trace()
        program = program_of(trace, find_steps(trace))
        joined = changes_of(program).get("join kernels two by two", program)
        assert len(joined) == len(program)


# ---- the command -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    reading_back(4).write(tmp_path / "T")
    lines = [machine(), *records("remote"), *records("remote-sync")]
    whole = [{"schema": "gpucast.record/1", **each} for each in lines]
    (tmp_path / "far.jsonl").write_text("".join(json.dumps(each) + "\n" for each in whole))
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
    status, out, _ = run(*command, "--network", "25Gb/s,300us")
    far = only_json(out)
    assert status == 0
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
    given = [str(data) if each == "DATA" else each for each in options]
    status, out, error = run("what-if", trace, *given)
    assert (status, out) == (2, "")
    assert said in error
    assert error.count("\n") == 1


def test_options_of_traces_are_refused_for_models(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_text("{}")
    status, _, error = run("what-if", model, "--network", "25Gb/s,30us")
    assert status == 2
    assert "--network: is for traces" in error
    status, _, error = run("what-if", model)
    assert status == 2
    assert f"{model}: is no model file" in error


def test_a_trace_has_no_what_if_on_the_path_it_is_of(run: Run, files: tuple[Path, Path]) -> None:
    trace, data = files
    status, out, error = run("what-if", trace, "--path", "native", "--data", data)
    assert (status, out) == (2, "")
    assert "--path: " in error
    assert error.count("\n") == 1


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
        status, out, error = run(*command)
        assert (status, out) == (2, "")
        assert "no repeating step" in error
        assert error.count("\n") == 1


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
