"""Traces made up by a small scheduler, for tests: a host that calls, GPUs that do what is asked.

    made = MadeTrace()
    for _ in range(10):
        with made.range("step"):
            made.host(20e-6)
            made.copy(4096, "h2d", blocking=True)
            made.launch("kernel", seconds=100e-6)
            made.copy(8, "d2h", blocking=True)
    trace = made.trace()            # in memory
    made.write(tmp_path / "T")      # as a file

The rules are few and exact, so that times can be computed by hand: a call takes ``cost`` seconds
of its thread; work begins ``LATENCY`` after its call began, not before the work before it in its
stream has ended, nor before its copy engine is free, nor before events that its stream waits for;
a call that waits returns ``WAKE`` after what it waits for has ended, or at its own cost's end if
that is later. Kernels of different streams run beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from gpucast.data.traces import tables
from gpucast.data.traces.trace import Exit, Process, RunDescription, Trace, TracedMachine

LATENCY = 2e-6
"""s from the begin of a call to the earliest begin of its work."""
WAKE = 1e-6
"""s from the end of what a call waits for to its return."""
COST = 3e-6
"""s that a call takes of its thread, unless told otherwise."""
LAUNCH = "cudaLaunchKernel"
DEFAULT_STREAM = 7
"""As CUPTI numbers the legacy default stream."""

_START = 1_790_000_000_000_000_000
_DIRECTIONS = {
    "h2d": tables.TO_DEVICE,
    "d2h": tables.TO_HOST,
    "d2d": tables.WITHIN_DEVICE,
    "p2p": tables.BETWEEN_DEVICES,
}
_MEMORIES = {"pageable": tables.PAGEABLE, "pinned": tables.PINNED, "managed": tables.MANAGED}


@dataclass
class MadeTrace:
    """A process under way; ``trace`` and ``write`` give what it has done so far.

    Attributes:
        bandwidth: B/s of copies that do not state their seconds.
        rank, program: of the process.
    """

    bandwidth: float = 10e9
    rank: int | None = None
    program: str = "./made"
    _rows: dict[str, list[dict[str, int]]] = field(
        default_factory=lambda: {table: [] for table in tables.COLUMNS}
    )
    _names: dict[str, int] = field(default_factory=dict)
    _clock: dict[int, float] = field(default_factory=dict)
    _stream_end: dict[tuple[int, int], float] = field(default_factory=dict)
    _engine_end: dict[tuple[int, int], float] = field(default_factory=dict)
    _streams: dict[tuple[int, int], int] = field(default_factory=dict)
    _events: dict[int, tuple[int, float]] = field(default_factory=dict)
    _recordings: int = 0

    # -- the host ---------------------------------------------------------------------------------

    def host(self, seconds: float, thread: int = 0) -> None:
        """The thread computes."""
        self._clock[thread] = self.now(thread) + seconds

    def now(self, thread: int = 0) -> float:
        """s since the process began, on a thread."""
        return self._clock.get(thread, 0.0)

    def at_least(self, seconds: float, thread: int = 0) -> None:
        """The thread sleeps until then."""
        self._clock[thread] = max(self.now(thread), seconds)

    def call(self, name: str, *, cost: float = COST, thread: int = 0) -> int:
        """A call that asks for no work; its correlation."""
        begin = self.now(thread)
        return self._called(name, begin, begin + cost, thread)

    @contextmanager
    def range(self, name: str, thread: int = 0) -> Iterator[None]:
        """An NVTX range around what is done within."""
        begin = self.now(thread)
        yield
        self._row("ranges", begin, self.now(thread), thread=thread, name=self._name(name))

    # -- work -------------------------------------------------------------------------------------

    def stream(self, stream: int) -> int:
        """States a blocking stream of the first device, as those are that are used without."""
        self._streams[0, stream] = tables.BLOCKING
        return stream

    def launch(
        self,
        kernel: str,
        *,
        seconds: float,
        stream: int = DEFAULT_STREAM,
        device: int = 0,
        thread: int = 0,
        cost: float = COST,
        blocks: int = 64,
        threads: int = 256,
        name: str = LAUNCH,
    ) -> int:
        """A kernel; its correlation."""
        begin = self.now(thread)
        correlation = self._called(name, begin, begin + cost, thread)
        self._work(
            correlation, begin, seconds, stream, device, kind=tables.KERNEL,
            name=self._name(kernel), blocks=blocks, threads=threads, registers=32,
        )  # fmt: skip
        return correlation

    def copy(
        self,
        size: int,
        direction: str,
        *,
        memory: str = "pageable",
        blocking: bool = True,
        waits: bool | None = None,
        seconds: float | None = None,
        stream: int = DEFAULT_STREAM,
        device: int = 0,
        thread: int = 0,
        cost: float = COST,
    ) -> int:
        """A copy: ``cudaMemcpy`` where blocking, else ``cudaMemcpyAsync``; its correlation.

        ``direction``: h2d, d2h, d2d, p2p. ``waits``: whether the host waits for its end; as
        ``blocking`` unless told otherwise.
        """
        begin = self.now(thread)
        number = _DIRECTIONS[direction]
        host = _MEMORIES[memory]
        ends = {
            tables.TO_DEVICE: (host, tables.DEVICE),
            tables.TO_HOST: (tables.DEVICE, host),
        }.get(number, (tables.DEVICE, tables.DEVICE))
        name = "cudaMemcpy" if blocking else "cudaMemcpyAsync"
        correlation = self._called(name, begin, begin + cost, thread)
        end = self._work(
            correlation, begin, size / self.bandwidth if seconds is None else seconds, stream,
            device, kind=tables.COPY, bytes=size, direction=number, from_memory=ends[0],
            to_memory=ends[1], asynchronous=int(not blocking), from_device=device,
            to_device=device,
        )  # fmt: skip
        if blocking if waits is None else waits:
            self._wait_until(end, thread)
        return correlation

    def set(
        self, size: int, *, stream: int = DEFAULT_STREAM, thread: int = 0, cost: float = COST
    ) -> int:
        """A memset of a microsecond; its correlation."""
        begin = self.now(thread)
        correlation = self._called("cudaMemsetAsync", begin, begin + cost, thread)
        self._work(
            correlation, begin, 1e-6, stream, 0, kind=tables.SET, bytes=size,
            to_memory=tables.DEVICE, asynchronous=1,
        )  # fmt: skip
        return correlation

    def graph(self, kernels: Sequence[tuple[str, float]], *, stream: int = DEFAULT_STREAM) -> int:
        """Launches a graph of kernels one after the other."""
        begin = self.now()
        correlation = self.call("cudaGraphLaunch")
        for node, (kernel, seconds) in enumerate(kernels):
            self._work(
                correlation, begin, seconds, stream, 0, kind=tables.KERNEL,
                name=self._name(kernel), blocks=64, threads=256, graph=1, node=node + 1,
            )  # fmt: skip
        return correlation

    # -- waits ------------------------------------------------------------------------------------

    def wait_stream(self, stream: int = DEFAULT_STREAM, *, device: int = 0, thread: int = 0) -> int:
        """``cudaStreamSynchronize``."""
        end = self._stream_end.get((device, stream), 0.0)
        return self._host_waits(
            "cudaStreamSynchronize", tables.HOST_WAITS_STREAM, end, thread, stream=stream
        )

    def wait_device(self, device: int = 0) -> int:
        """``cudaDeviceSynchronize``."""
        ends = [end for (number, _), end in self._stream_end.items() if number == device]
        return self._host_waits(
            "cudaDeviceSynchronize", tables.HOST_WAITS_DEVICE, max(ends, default=0.0)
        )

    def record(
        self, event: int, stream: int = DEFAULT_STREAM, *, device: int = 0, thread: int = 0,
        cost: float = COST,
    ) -> int:  # fmt: skip
        """``cudaEventRecord``."""
        begin = self.now(thread)
        correlation = self._called("cudaEventRecord", begin, begin + cost, thread)
        self._recordings += 1
        reached = max(begin, self._stream_end.get((device, stream), 0.0))
        self._events[event] = (self._recordings, reached)
        self._wait_row(tables.EVENT_RECORDED, correlation, stream=stream, event=event)
        return correlation

    def wait_event(self, event: int) -> int:
        """``cudaEventSynchronize``."""
        _, reached = self._events.get(event, (0, 0.0))
        return self._host_waits(
            "cudaEventSynchronize", tables.HOST_WAITS_EVENT, reached, event=event
        )

    def stream_waits(self, event: int, stream: int = DEFAULT_STREAM) -> int:
        """``cudaStreamWaitEvent``."""
        begin = self.now()
        correlation = self.call("cudaStreamWaitEvent")
        _, reached = self._events.get(event, (0, 0.0))
        self._stream_end[0, stream] = max(self._stream_end.get((0, stream), 0.0), reached)
        self._wait_row(
            tables.STREAM_WAITS_EVENT, correlation, begin, self.now(), stream=stream, event=event
        )
        return correlation

    # -- what comes out ---------------------------------------------------------------------------

    def process(self, pid: int = 4711) -> Process:
        """The process as ``gpucast.data.traces`` has it in memory."""
        rows = dict(self._rows)
        rows["streams"] = [
            {"context": device + 1, "device": device, "stream": stream, "flags": flags}
            for (device, stream), flags in self._streams.items()
        ]
        made = {table: _frame(table, fields) for table, fields in rows.items()}
        for table in ("calls", "work", "ranges"):
            made[table] = made[table].sort_values("start_ns", kind="stable", ignore_index=True)
        names = {number: name for name, number in self._names.items()}
        return Process(
            pid=pid, rank=self.rank, program=self.program, lost=0, ended="exit", names=names, **made
        )

    def trace(self, *others: MadeTrace) -> Trace:
        """The run of this process and others."""
        processes = tuple(one.process(4711 + at) for at, one in enumerate((self, *others)))
        run = RunDescription(
            source="cupti",
            command=[self.program],
            machine=TracedMachine("made", ["Made GPU"], "580.0", "Made CPU"),
            started=_START / 1e9,
            seconds=max(self._clock.values(), default=0.0),
            exit=Exit(status=0),
        )
        return Trace(run=run, processes=processes, file="made")

    def write(self, path: Path, *others: MadeTrace) -> Path:
        """The run as a trace file."""
        from gpucast.data.traces.writing import write

        write(self.trace(*others), path)
        return path

    # -- within -----------------------------------------------------------------------------------

    def _called(self, name: str, begin: float, end: float, thread: int) -> int:
        correlation = len(self._rows["calls"]) + 1
        number = self._name(name)
        self._row("calls", begin, end, correlation=correlation, thread=thread, name=number)
        self._clock[thread] = end
        return correlation

    def _work(
        self, correlation: int, called: float, seconds: float, stream: int, device: int,
        **columns: int,
    ) -> float:  # fmt: skip
        key = (device, stream)
        self._streams.setdefault(
            key, tables.LEGACY_DEFAULT if stream == DEFAULT_STREAM else tables.BLOCKING
        )
        begin = max(called + LATENCY, self._stream_end.get(key, 0.0))
        engine = (device, columns.get("direction", 0))
        if engine[1] in (tables.TO_DEVICE, tables.TO_HOST):
            begin = max(begin, self._engine_end.get(engine, 0.0))
            self._engine_end[engine] = begin + seconds
        self._stream_end[key] = begin + seconds
        where = {"device": device, "context": device + 1, "stream": stream, **columns}
        self._row("work", begin, begin + seconds, correlation=correlation, **where)
        return begin + seconds

    def _host_waits(self, name: str, kind: int, end: float, thread: int = 0, **columns: int) -> int:
        begin = self.now(thread)
        correlation = self.call(name, thread=thread)
        if end > begin:
            self._wait_until(end, thread)
        self._wait_row(kind, correlation, begin, self.now(thread), **columns)
        return correlation

    def _wait_until(self, end: float, thread: int) -> None:
        """The call made last returns after this."""
        self.at_least(end + WAKE, thread)
        self._rows["calls"][-1]["end_ns"] = _ns(self.now(thread))

    def _wait_row(
        self, kind: int, correlation: int, begin: float | None = None, end: float | None = None,
        stream: int = 0, event: int = 0,
    ) -> None:  # fmt: skip
        recording = self._events.get(event, (0, 0.0))[0] if event else 0
        where = {"context": 1, "stream": stream, "event": event, "recording": recording}
        self._row("waits", begin, end, kind=kind, correlation=correlation, **where)

    def _row(self, table: str, begin: float | None, end: float | None, **columns: int) -> None:
        times = {"start_ns": begin, "end_ns": end}
        known = {name: 0 if time is None else _ns(time) for name, time in times.items()}
        self._rows[table].append(known | columns)

    def _name(self, text: str) -> int:
        return self._names.setdefault(text, len(self._names) + 1)


def _ns(seconds: float) -> int:
    return _START + round(seconds * 1e9)


def _frame(table: str, rows: Sequence[dict[str, int]]) -> pd.DataFrame:
    return tables.frame(
        table, {name: [row.get(name, 0) for row in rows] for name in tables.COLUMNS[table]}
    )
