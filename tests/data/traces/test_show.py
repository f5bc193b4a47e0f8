"""``gpucast trace show``, ``export`` and ``import`` as they are used."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from command_line import Run, assert_refused, only_json
from gpucast.data.traces import find_steps, read
from made_traces import MadeTrace

US = 1e-6


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A program of two streams, with a range and something every tenth step."""
    made = MadeTrace(program="./pipeline")
    for at in range(30):
        with made.range("step"):
            for stream in (13, 14):
                made.copy(2**20, "h2d", memory="pinned", blocking=False, stream=stream)
                made.launch("void app::transform<float>(float*)", seconds=80 * US, stream=stream)
            made.wait_stream(13)
            made.wait_stream(14)
        if at % 10 == 5:
            made.copy(8, "d2h")
    return made.write(tmp_path / "T")


def test_a_newcomer_is_told_what_a_step_is_and_where_its_time_goes(run: Run, trace: Path) -> None:
    status, out, err = run("trace", "show", trace)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "./pipeline on made, Made GPU (recorded by cupti)"
    assert lines[1].startswith("step: ")
    assert "every 10th step makes 1 call more" in out
    assert "app::transform" in out
    waits = [line for line in out.splitlines() if line.startswith("cudaStreamSynchronize")]
    assert "app::transform" in waits[0]
    assert "(step before)" in waits[1]


def test_json_says_the_same(run: Run, trace: Path) -> None:
    _, out, _ = run("trace", "show", trace, "--json", "--range", "step")
    answer = only_json(out)
    about = {"trace", "source", "command", "machine", "seconds_untraced"}
    assert set(answer) == about | {"processes", "notes"}
    (process,) = answer["processes"]
    steps, host = process["steps"], process["host"]
    assert answer["source"] == "cupti"
    assert steps["how"] == "range 'step', 30 times" or steps["found"] == 29
    assert host["waiting"] + host["calls"] + host["outside"] == pytest.approx(steps["mean"])
    for gpu in process["gpus"]:
        parts = gpu["kernels"] + gpu["copies"] + gpu["both"] + gpu["idle"]
        assert parts == pytest.approx(steps["mean"])
    assert {wait["what"] for wait in process["waits"]} >= {"stream"}


def test_several_processes_are_compared(run: Run, tmp_path: Path) -> None:
    ranks = []
    for rank in range(3):
        made = MadeTrace(rank=rank)
        for _ in range(8):
            made.launch("a", seconds=(10 + rank) * US)
            made.copy(8, "d2h")
        ranks.append(made)
    _, out, _ = run("trace", "show", ranks[0].write(tmp_path / "T", *ranks[1:]))
    rows = [line.split() for line in out.splitlines()[-3:]]
    assert [row[1] for row in rows] == ["0", "1", "2"]


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_the_timeline_is_drawn(run: Run, trace: Path, tmp_path: Path, ending: str) -> None:
    figure = tmp_path / f"timeline.{ending}"
    status, out, _ = run("trace", "show", trace, "-o", figure)
    assert status == 0
    assert out.endswith(f"written: {figure}\n")
    assert figure.stat().st_size > 5000
    assert_refused(run("trace", "show", trace, "-o", figure), "exists already")


def test_a_figure_needs_an_ending_that_is_one(run: Run, trace: Path, tmp_path: Path) -> None:
    assert_refused(run("trace", "show", trace, "-o", tmp_path / "x.docx"), "ends in .png")
    assert not (tmp_path / "x.docx").exists()


def test_everything_recorded_is_exported_for_perfetto(
    run: Run, trace: Path, tmp_path: Path
) -> None:
    output = tmp_path / "T.json.gz"
    assert run("trace", "export", trace, "-o", output)[0] == 0
    events = json.loads(gzip.decompress(output.read_bytes()))["traceEvents"]
    process = read(trace).processes[0]
    steps = find_steps(read(trace)).main
    by_kind = {
        kind: [event for event in events if event.get("cat") == kind]
        for kind in ("call", "kernel", "copy", "range", "step")
    }
    assert len(by_kind["call"]) == len(process.calls)
    assert len(by_kind["kernel"]) + len(by_kind["copy"]) == len(process.work)
    assert len(by_kind["range"]) == 30
    assert len(by_kind["step"]) == steps.count
    first = by_kind["call"][0]
    assert first["ts"] == 0
    assert first["dur"] == pytest.approx(3.0)
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) == len(process.work)


def test_a_trace_without_steps_is_exported_all_the_same(run: Run, tmp_path: Path) -> None:
    made = MadeTrace()
    made.launch("once", seconds=US)
    status, _, err = run("trace", "export", made.write(tmp_path / "T"), "-o", tmp_path / "T.json")
    assert status == 0
    assert "without a row of steps" in err


def test_one_of_ours_is_not_imported(run: Run, trace: Path, tmp_path: Path) -> None:
    assert_refused(run("trace", "import", trace, "-o", tmp_path / "again"), "one of ours already")
