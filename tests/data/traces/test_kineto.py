"""PyTorch's traces: events as libkineto writes them, made by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Run, assert_refused
from gpucast.data.traces import find_steps, kineto, read, tables
from gpucast.errors import InputError

Event = dict[str, Any]
BASE = 1_700_000_000_000_000_000


def event(category: str, name: str, ts: float, dur: float, tid: int = 99, **args: Any) -> Event:
    """A complete event; times in microseconds."""
    return {
        "ph": "X", "cat": category, "name": name, "pid": 4711, "tid": tid, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def events(steps: int = 8) -> list[Event]:
    """Steps of a kernel and ``.item()``, with events between two streams."""
    made: list[Event] = [{"ph": "M", "name": "process_name", "pid": 4711, "args": {"name": "py"}}]
    gpu = {"device": 0, "context": 1, "stream": 7}
    for at in range(steps):
        begin, number = 198_093_488_368.463 + 100 * at, 10 * at + 1
        size = {"grid": [4, 5, 1], "block": [128, 1, 1], "registers per thread": 24}
        made += [
            event("user_annotation", f"ProfilerStep#{at}", begin, 99),
            event("gpu_user_annotation", f"ProfilerStep#{at}", begin, 99, tid=7),
            event("cuda_runtime", "cudaLaunchKernel", begin + 1, 3, correlation=number),
            event("cuda_driver", "cuLaunchKernel", begin + 2, 1, correlation=number + 1),
            event(
                "kernel", "void at::native::sum<float>(int)", begin + 6.5, 40.25, tid=7,
                correlation=number, **gpu, **size, **{"shared memory": 64},
            ),
            event("cuda_runtime", "cudaEventRecord", begin + 5, 1, correlation=number + 2),
            event(
                "cuda_event", "cudaEvent", begin + 5, 0, event_id=3, correlation=number + 2, **gpu
            ),
            event("cuda_runtime", "cudaStreamWaitEvent", begin + 7, 1, correlation=number + 3),
            event(
                "cuda_sync", "Stream Wait Event", begin + 7, 1, cuda_sync_kind="Stream Wait Event",
                wait_on_stream=7, wait_on_cuda_event_record_corr_id=number + 2,
                wait_on_cuda_event_id=3, stream=20, correlation=number + 3, device=0, context=1,
            ),
            event("cuda_runtime", "cudaMemcpyAsync", begin + 9, 4, correlation=number + 4),
            event(
                "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", begin + 47, 1.5, tid=7,
                correlation=number + 4, bytes=4, **gpu,
            ),
            event("cuda_runtime", "cudaStreamSynchronize", begin + 14, 36, correlation=number + 5),
            event(
                "cuda_sync", "Stream Sync", begin + 14, 36, cuda_sync_kind="Stream Sync", stream=7,
                correlation=number + 5, device=0, context=1,
            ),
        ]  # fmt: skip
    return made


def written(path: Path, made: list[Event] | None = None, **others: Any) -> Path:
    """The file that holds these events."""
    document = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
        "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4},
        "baseTimeNanoseconds": BASE,
        "traceEvents": events() if made is None else made,
    }
    text = json.dumps(document | others).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_calls_work_and_waits_are_read(tmp_path: Path, name: str) -> None:
    trace = read(written(tmp_path / name))
    (process,) = trace.processes
    assert (trace.run.source, process.rank, process.pid) == ("kineto", 2, 4711)
    assert trace.run.machine.gpus == ["NVIDIA H200"]
    names = [process.name_of(number) for number in process.calls["name"][:5]]
    assert names == [
        "cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync",
        "cudaStreamSynchronize",
    ]  # fmt: skip
    kernel, copy = process.work.astype(object).to_dict("records")[:2]
    assert (kernel["blocks"], kernel["threads"], kernel["shared_bytes"]) == (20, 128, 64)
    assert kernel["start_ns"] == BASE + 198_093_488_374_963
    assert kernel["end_ns"] - kernel["start_ns"] == 40_250
    assert (copy["direction"], copy["to_memory"], copy["bytes"]) == (2, tables.PAGEABLE, 4)
    assert copy["asynchronous"] == 1
    recordings = process.waits.groupby("kind")["recording"].first()
    recorded = recordings[tables.EVENT_RECORDED]
    assert recorded == recordings[tables.STREAM_WAITS_EVENT] == 3


def test_its_steps_are_those_of_the_profiler(tmp_path: Path) -> None:
    trace = read(written(tmp_path / "trace.json"))
    assert find_steps(trace, "ProfilerStep").main.count == 8
    steps = find_steps(trace).main
    assert steps.seconds[1:] == pytest.approx([100e-6] * 7)
    assert any("include PyTorch's profiler" in line for line in trace.missing)


def test_without_its_own_waits_one_line_says_how_to_get_them(tmp_path: Path) -> None:
    bare = [event for event in events() if event.get("cat") not in ("cuda_sync", "cuda_event")]
    trace = read(written(tmp_path / "trace.json", bare))
    assert any("enable_cuda_sync_events=True" in line for line in trace.missing)
    # Names of calls still show which ones wait.
    assert "cudaStreamSynchronize waits" in find_steps(trace).main.how


def test_the_memory_is_the_most_that_a_gpu_had_reserved(tmp_path: Path) -> None:
    memory = [
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 4711,
            "ts": 1,
            "args": args,
        }
        for args in (
            {"Device Type": 1, "Device Id": 0, "Total Reserved": 3 << 30, "Bytes": 512},
            {"Device Type": 1, "Device Id": 1, "Total Reserved": 5 << 30, "Bytes": -512},
            {"Device Type": 0, "Device Id": -1, "Total Reserved": 9 << 30},
            {"Device Type": 1, "Device Id": 0, "Total Reserved": "nan"},
        )
    ]
    assert read(written(tmp_path / "trace.json", [*events(), *memory])).run.gpu_memory == 5 << 30
    assert read(written(tmp_path / "other.json")).run.gpu_memory is None


def test_a_profile_becomes_a_trace_of_ours(run: Run, tmp_path: Path) -> None:
    source = written(tmp_path / "trace.json")
    status, out, err = run("trace", "import", source, "-o", tmp_path / "T")
    assert status == 0
    assert "PyTorch's profiler" in err
    assert "40 calls, 16 pieces of GPU work" in out
    assert read(tmp_path / "T").run.source == "kineto"


def test_a_profile_of_the_host_alone_is_refused(run: Run, tmp_path: Path) -> None:
    host = [event("cpu_op", "aten::add", 1, 2)]
    path = written(tmp_path / "trace.json", host)
    assert_refused(run("trace", "show", path), "no calls", "ProfilerActivity.CUDA")


def test_an_event_without_times_is_named(run: Run, tmp_path: Path) -> None:
    made = events()
    del made[3]["ts"]
    path = written(tmp_path / "trace.json", made)
    assert_refused(run("trace", "show", path), "traceEvents[3]: must have ts and dur")


def test_events_that_are_no_list_are_refused(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "trace.json", traceEvents={"a": 1})
    assert_refused(run("trace", "show", path), "traceEvents: must be a list")


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_profile_cut_off_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    content = written(tmp_path / name).read_bytes()
    cut = tmp_path / f"cut-{name}"
    for length in range(20, len(content) - 1, max(1, len(content) // 50)):
        cut.write_bytes(content[:length])
        with pytest.raises(InputError, match=str(cut)):
            kineto.read(cut)
