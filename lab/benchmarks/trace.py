"""How much does recording lengthen steps, and do traces hold what programs did? Runs on a GPU.

    python lab/benchmarks/trace.py --build build/gpu -o FOLDER  run, then check
    python lab/benchmarks/trace.py --check FOLDER               results of such a run, by pandas

Native and recorded runs of a program alternate, so that both see the same load. FOLDER gets
results.jsonl (a line for each run), refusals.txt and traces.tar, which holds the smaller traces.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:  # pandas is not on every machine with a GPU
    import pandas as pd
    import pyarrow as pa
except ImportError:
    pd = pa = None

HERE = Path(__file__).resolve().parent
PATIENCE = 60  # s
LARGEST, ALL = 3_000_000, 15_000_000  # bytes: the largest trace that is kept, and all kept traces


@dataclass(frozen=True)
class Case:
    """A program to record.

    Attributes:
        whole: whether everything that the program requested must be in the trace.
        limit: the share by which recording may lengthen its step; None if none is promised.
        size: the largest size of its trace, bytes.
        variables: environment variables of the recorder (trace/src/settings.h).
    """

    name: str
    command: list[str]
    options: list[str] = field(default_factory=list)
    rounds: int = 1
    whole: bool = True
    limit: float | None = None
    size: int | None = None
    variables: dict[str, str] = field(default_factory=dict)


def cases(build: Path) -> list[Case]:
    """All programs, first those whose steps are compared."""
    probe = str(build / "trace/probe/gpucast-trace-probe")
    mdapp = [str(build / "mdapp/gpucast-mdapp"), "measure", "--engine", "cuda", "--quiet"]
    mdapp += ["--n", "4096", "--max-time", "0.2", "--force", "-o", "/dev/null", "--schedule"]
    torch = [sys.executable, str(HERE / "trace_torch.py")]
    full = ["--full"]
    return [
        Case("ranges", [probe, "ranges", "200", "4", "5"], full),
        Case("step-100us", [probe, "launches", "8000", "8", "10"], rounds=3, limit=0.03),
        Case("step-100us-many", [probe, "launches", "8000", "30", "0"], rounds=3, limit=0.03),
        Case("step-20us", [probe, "launches", "30000", "1", "5"], rounds=3, limit=0.10),
        Case("step-20us-many", [probe, "launches", "30000", "4", "0"], rounds=3, limit=0.10),
        Case("poll", [probe, "poll", "300", "1", "1000"]),
        Case("step-graph", [probe, "graph", "8000", "20", "2"], rounds=2, limit=0.03),
        Case("torch", [*torch, "1000"]),
        Case("step-20us-events", [probe, "events", "20000", "1", "2"], rounds=3, limit=0.10),
        Case("million", [probe, "launches", "20000", "50", "0"], ["--calls", "0"],
             size=100_000_000),
        Case("million-full", [probe, "launches", "20000", "50", "0"], ["--calls", "0", *full],
             size=100_000_000),
        Case("step-graph-whole", [probe, "graph", "8000", "20", "2"], ["--graphs", "whole"],
             rounds=2, limit=0.03),
        Case("quit", [probe, "quit", "3000", "8", "10"]),
        Case("launches", [probe, "launches", "500", "8", "5"], full),
        Case("copies", [probe, "copies", "200"], full),
        Case("events", [probe, "events", "500", "1", "20"], full),
        Case("graph", [probe, "graph", "300", "10", "2"], full),
        Case("graph-whole", [probe, "graph", "300", "10", "2"], ["--graphs", "whole", *full],
             whole=False),
        Case("threads", [probe, "threads", "200", "4", "5"], full),
        Case("driver", [probe, "driver", "300", "8", "5"], full),
        Case("fork", [probe, "fork", "200", "4", "5"], full),
        Case("kill", [probe, "kill", "500", "8", "5"], full),
        Case("static", [f"{probe}-static", "launches", "500", "8", "5"], full),
        Case("long", [probe, "launches", "3", "1", "2000000"], full),
        Case("star-serial", [*mdapp, "star-serial"], full, whole=False),
        Case("star-async", [*mdapp, "star-async"], full, whole=False),
        Case("torch-spawned", [*torch, "100", "spawned"], full, whole=False),
    ]  # fmt: skip


def overhead(build: Path) -> list[Case]:
    """Programs that are in a light phase nearly all the time, to see how it lengthens steps.

    Those whose name ends with ``begin`` are in one from the first call: their difference from the
    others is what remains after the recording of the GPU's work has stopped.
    """
    probe = str(build / "trace/probe/gpucast-trace-probe")
    programs = {
        "many": [probe, "launches", "8000", "30", "0"],
        "20us": [probe, "launches", "30000", "1", "5"],
        "graph": [probe, "graph", "8000", "20", "2"],
    }
    phases = {"GPUCAST_TRACE_LIGHT_TO_FULL": "1000"}
    begin = phases | {"GPUCAST_TRACE_BEGIN": "light"}
    usual = [case for case in cases(build) if case.name == "step-20us"]
    return usual + [
        Case(f"overhead-{program}-calls{word}", command, variables=variables, whole=False)
        for program, command in programs.items()
        for variables, word in ((phases, ""), (begin, "-begin"))
    ]


# --- running ----------------------------------------------------------------------------------


def run(case: Case, folder: Path, build: Path) -> Iterator[dict[str, Any]]:
    """Alternate native and recorded runs; yield the result of each."""
    trace = folder / f"{case.name}.trace"
    gpucast = [sys.executable, "-m", "gpucast.cli", "trace", "--steps", "0", "--force"]
    paths = [str(HERE.parents[1] / "python"), os.environ.get("PYTHONPATH", "")]
    variables = os.environ | {
        "GPUCAST_TRACE_LIB": str(build / "trace"),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "GPUCAST_TRACE_LOG": "1",  # logs whether NVTX loaded the recorder, and CUPTI's errors
        **case.variables,
    }
    for number in range(case.rounds):
        for recorded in (False, True) if number % 2 == 0 else (True, False):
            words = [*gpucast, "-o", str(trace), *case.options, "--"] if recorded else []
            begin = time.monotonic()
            status, out, error = finished([*words, *case.command], variables)
            yield {
                "case": case.name,
                "recorded": recorded,
                "status": status,
                "seconds": time.monotonic() - begin,
                "said": [json.loads(line) for line in out.splitlines() if line.startswith("{")],
                "stderr": error[-600:],
                "bytes": trace.stat().st_size if recorded and trace.exists() else None,
                "second_run": second_run(trace) if recorded and trace.exists() else None,
            }


def second_run(trace: Path) -> float | None:
    """Microseconds of a step in a trace's second run."""
    with zipfile.ZipFile(trace) as archive:
        seconds = json.loads(archive.read("run.json")).get("seconds_untraced")
    return None if seconds is None else 1e6 * seconds


def finished(command: list[str], variables: dict[str, str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; a command that hangs is killed with all processes it
    started."""
    process = subprocess.Popen(
        command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        out, error = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, error = process.communicate()
        error += f" hung for {PATIENCE} s"
    return process.returncode, out, error


def refusals(folder: Path, build: Path) -> Iterator[str]:
    """Messages and exit statuses of programs that cannot be recorded."""
    probe = str(build / "trace/probe/gpucast-trace-probe")
    profiler = (
        "import torch; from torch.profiler import profile\nwith profile(): torch.ones(9).cuda()"
    )
    for name, command in {
        "compute-sanitizer": ["compute-sanitizer", probe, "launches", "10"],
        "torch.profiler": [sys.executable, "-c", profiler],
        "no CUDA": ["true"],
    }.items():
        case = Case(f"refused-{name.replace(' ', '-')}", command)
        *_, result = run(case, folder, build)
        yield f"{name}: status {result['status']}; stderr: {' '.join(result['stderr'].split())}"


def measure(folder: Path, build: Path, only: str | None, seconds: float) -> None:
    """Run all cases, or those of ``only``; none begins after ``seconds``."""
    end = time.monotonic() + seconds
    with (folder / "results.jsonl").open("w") as results:
        known = [] if only == "overhead" else cases(build)
        for case in known if only is None else known + overhead(build):
            if time.monotonic() > end:
                print(f"{case.name}: not run, time is up")
            elif only in (None, "overhead") or case.name in only.split(","):
                begin = time.monotonic()
                ran = []
                for result in run(case, folder, build):
                    results.write(json.dumps(result) + "\n")
                    results.flush()
                    ran.append(result)
                print(f"{case.name}: {time.monotonic() - begin:.1f} s")
                for problem in _compare_steps(case, ran):
                    print(f"  WRONG: {problem}")
    if only is None and time.monotonic() < end:
        lines = list(refusals(folder, build))
        (folder / "refusals.txt").write_text("\n".join(lines) + "\n")
        print("\n".join(lines))
    with tarfile.open(folder / "traces.tar", "w") as archive:
        left = ALL
        for trace in sorted(folder.glob("*.trace"), key=lambda file: file.stat().st_size):
            left -= trace.stat().st_size
            if trace.stat().st_size <= LARGEST and left >= 0:
                archive.add(trace, trace.name)
            trace.unlink()


# --- checking -----------------------------------------------------------------------------------

KEY = ["process", "correlation"]
COLUMNS = {
    "calls": ["start_ns", "end_ns", "correlation", "thread", "name"],
    "work": ["kind", "start_ns", "end_ns", "correlation", "bytes", "direction", "graph"],
    "waits": ["kind", "recording"],
    "ranges": [],
    "phases": ["start_ns", "end_ns", "full"],
    "names": ["id", "text"],
}  # fmt: skip
"""Columns that are checked of each table of a trace; the process is added to them."""


class Tables:
    """A trace's tables, with the rows of all processes; ``text`` is the name of a call."""

    def __init__(self, content: bytes) -> None:
        self.processes = []
        parts = {
            name: [pd.DataFrame(columns=[*columns, "process"])] for name, columns in COLUMNS.items()
        }
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.namelist():
                process, _, file = entry.rpartition("/")
                if file == "process.json":
                    self.processes.append(json.loads(archive.read(entry)))
                elif (name := file.removesuffix(".arrows")) in COLUMNS:
                    rows = whole_batches(entry, archive.read(entry))
                    parts[name].append(rows[COLUMNS[name]].assign(process=process))
        tables = {
            name: pd.concat(frames[1:] or frames, ignore_index=True)
            for name, frames in parts.items()
        }
        # Times since the first call: floats hold them to the nanosecond.
        first = tables["calls"].start_ns.min()
        for name in ("calls", "work", "phases"):
            tables[name][["start_ns", "end_ns"]] -= first
        self.work, self.waits, self.ranges = tables["work"], tables["waits"], tables["ranges"]
        self.phases = tables["phases"]
        names = tables["names"].rename(columns={"id": "name"})
        self.calls = tables["calls"].merge(names, how="left", on=["process", "name"])

    def in_phases(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows in order of time, with their phase; NaN: outside all phases."""
        phases = self.phases.rename(columns={"end_ns": "phase_end"}).sort_values("start_ns")
        phases = phases.assign(phase_start=phases.start_ns).astype({"full": float})
        rows = rows.sort_values("start_ns")
        joined = pd.merge_asof(rows, phases, on="start_ns", by="process")
        return joined.assign(full=joined.full.where(joined.end_ns <= joined.phase_end))


def whole_batches(entry: str, content: bytes) -> pd.DataFrame:
    """The rows of a table that may be truncated."""
    stream, batches = pa.ipc.open_stream(content), []
    try:
        batches.extend(stream)
    except pa.ArrowInvalid:
        print(f"  {entry}: truncated")
    return pa.Table.from_batches(batches, stream.schema).to_pandas()


def counted(tables: Tables) -> Counter[str]:
    """Count the events of a trace, under the probe's names."""
    counts = Counter(tables.calls.text.dropna())
    work, waits = tables.work, tables.waits.kind.value_counts()
    kernels, sets = work[work.kind == 0], work[work.kind == 2]
    counts["kernels"] = int((kernels.graph == 0).sum())
    counts["graph kernels"] = len(kernels) - counts["kernels"]
    for word, direction in {"h2d": 1, "d2h": 2, "d2d": 8}.items():
        copies = work[(work.kind == 1) & (work.direction == direction)]
        counts[word], counts[f"{word} bytes"] = len(copies), int(copies.bytes.sum())
    counts["memset"], counts["memset bytes"] = len(sets), int(sets.bytes.sum())
    words = ("event waits", "stream waits for event", "stream waits", "device waits", "recorded")
    for kind, word in enumerate(words, start=1):
        counts[word] = int(waits.get(kind, 0))
    counts["ranges"] = len(tables.ranges)
    return counts


def errors_of(case: Case, tables: Tables, answers: list[dict[str, Any]]) -> Iterator[str]:
    """Errors of a trace, if any. ``answers``: what the programs themselves counted."""
    if other := set(tables.phases.full) - {0, 1, 2}:
        yield f"phases of kinds {sorted(other)}, which this gpucast does not know"
        return
    counts, requested = counted(tables), Counter[str]()
    light = bool((tables.phases.full == 0).any())
    for answer in answers:
        requested.update(answer["asked"])
    for word, count in requested.items():
        calls_alone = word.startswith(("cuda", "cu")) or word == "ranges"
        if case.whole and (calls_alone or not light) and counts[word] != count:
            # Without a light phase everything requested is recorded; calls always are.
            yield f"{word}: {counts[word]}, expected {count}"
    for process in tables.processes:
        for word in ("lost", "untimed"):
            if process.get(word):
                yield f"{process[word]} records {word}"
    if shared := int(tables.calls.duplicated(KEY, keep=False).sum()):
        yield f"{shared} calls share their number with others"
    calls = pd.MultiIndex.from_frame(tables.calls[KEY])
    orphans = int((~pd.MultiIndex.from_frame(tables.work[KEY]).isin(calls)).sum())
    # A process that is killed may have lost the call's record, which ends after the work's.
    if orphans > sum(process["ended"] == "open" for process in tables.processes):
        yield f"{orphans} GPU activities have no call"
    if light:
        yield from _misplaced(tables)
        return  # a wait may be recorded without the recording of its event
    waits, ends = tables.waits, ["process", "recording"]
    recorded = pd.MultiIndex.from_frame(waits.loc[waits.kind == 5, ends])
    for kind in (1, 2):
        own = pd.MultiIndex.from_frame(waits.loc[waits.kind == kind, ends])
        if lost := int((~own.isin(recorded)).sum()):
            yield f"{lost} of {len(own)} waits of kind {kind} without the recording"


ASKS = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpy",
        "cudaMemcpyAsync", "cudaMemsetAsync", "cudaGraphLaunch")  # fmt: skip


def _misplaced(tables: Tables) -> Iterator[str]:
    """Errors: work missing in full phases or present in light ones, and its distance from a
    switch."""
    calls = tables.calls.reset_index(names="place")
    captured = calls.place[
        calls.text == "cudaStreamEndCapture"
    ].max()  # earlier launches belong to a graph
    works = tables.work.groupby(KEY).size().rename("works")
    calls = tables.in_phases(calls[calls.text.isin(ASKS)]).join(works, on=KEY).fillna({"works": 0})
    full, light = calls[calls.full == 1], calls[calls.full == 0]
    worked = int((light.works > 0).sum())
    print(
        f"  calls that launch work, by phase: {len(full)} full, {len(light)} light, "
        f"{int((calls.full == 2).sum())} without kernels, which the recorder noticed, "
        f"{int(calls.full.isna().sum())} between"
    )
    lost = full[(full.works == 0) & ~(full.place < captured)]
    if len(lost):
        late = (lost.phase_end - lost.end_ns) / 1e3
        early = (lost.start_ns - lost.phase_start) / 1e3
        yield (
            f"{len(lost)} of {len(full)} calls of full phases lack their work; they end "
            f"{late.min():.0f}..{late.max():.0f} us before the phase does, and begin "
            f"{early.min():.0f}..{early.max():.0f} us after it did"
        )
    if worked:
        yield f"{worked} of {len(light)} calls of light phases have work"
    graphs = full.works[(full.text == "cudaGraphLaunch") & (full.works > 0)].astype(int)
    if graphs.nunique() > 1:
        yield f"graph launches with several numbers of nodes: {dict(Counter(graphs))}"


def steps_by_phase(tables: Tables) -> dict[int, list[float]]:
    """Steps (microseconds) of the first thread, from wait to wait, in full (1) and light (0)
    phases."""
    waits = ("cudaMemcpy", "cudaStreamSynchronize", "cudaEventSynchronize")
    calls = tables.calls[(tables.calls.thread == 0) & tables.calls.text.isin(waits)]
    ends = calls.sort_values("end_ns")[["process", "end_ns"]]
    steps = ends.assign(start_ns=ends.groupby("process").end_ns.shift()).dropna()
    steps = tables.in_phases(steps.astype({"start_ns": "int64"}))
    us = (steps.end_ns - steps.start_ns) / 1e3
    return {full: us[steps.full == full].tolist() for full in (0, 1)}


def check(folder: Path, build: Path) -> int:
    """Print how recording lengthened steps and what is wrong; the number of errors."""
    results: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        results.setdefault(result["case"], []).append(result)
    wrong = 0
    with tarfile.open(folder / "traces.tar") as archive:
        traces = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        for case in {case.name: case for case in cases(build) + overhead(build)}.values():
            if case.name in results:
                print(f"== {case.name}")
                problems = list(_compare_steps(case, results[case.name]))
                stream = traces.get(f"{case.name}.trace")
                if stream is not None:
                    tables = Tables(stream.read())
                    last = [run for run in results[case.name] if run["recorded"]][-1]
                    problems += errors_of(case, tables, last["said"])
                    problems += _compare_phases(case, tables, results[case.name])
                for problem in problems:
                    print(f"  WRONG: {problem}")
                wrong += len(problems)
    print(f"{wrong} errors" if wrong else "no errors")
    return wrong


def _compare_steps(case: Case, results: list[dict[str, Any]]) -> Iterator[str]:
    """Print the steps without and with the recorder; yield errors in how the runs ended."""
    for result in results:
        if result["status"] != (0 if case.name != "kill" else 137 if result["recorded"] else -9):
            yield f"status {result['status']}: {result['stderr']}"
            return
    steps = {
        recorded: [run["said"][0] for run in results if run["recorded"] == recorded and run["said"]]
        for recorded in (False, True)
    }
    last = [run for run in results if run["recorded"]][-1]
    messages = " | ".join(last["stderr"].strip().splitlines())[-300:]
    print(f"  {(last['bytes'] or 0) / 1e6:.3g} MB; {messages}")
    if case.size is not None and last["bytes"] > case.size:
        yield f"{last['bytes'] / 1e6:.3g} MB, at most {case.size / 1e6:.3g} promised"
    if all(steps.values()):
        for word in ("median_us", "mean_us"):
            native, recorded = (
                statistics.median(run[word] for run in steps[which]) for which in (False, True)
            )
            more = recorded / native - 1
            print(f"  {word}: native {native:.2f}, recorded {recorded:.2f}: {more:+.1%}")
        native = statistics.median(run["median_us"] for run in steps[False])
        for second in [run["second_run"] for run in results if run.get("second_run")]:
            print(f"  second run: {second:.2f}, {second / native - 1:+.1%}")


def _compare_phases(case: Case, tables: Tables, results: list[dict[str, Any]]) -> Iterator[str]:
    native = [r["said"][0]["median_us"] for r in results if r["said"] and not r["recorded"]]
    steps = steps_by_phase(tables)
    if case.limit is None or not native or not steps[0]:
        return
    without = statistics.median(native)
    for full, word in ((1, "full"), (0, "light")):
        if steps[full]:
            us = statistics.median(steps[full])
            more = us / without - 1
            print(f"  step in {word} phases: {us:.2f} us ({len(steps[full])}), {more:+.1%}")
    if more > case.limit:
        yield f"{more:+.1%} in light phases, at most {case.limit:.0%} promised"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/gpu"))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--only", help="cases, separated by commas; or `overhead`")
    parser.add_argument("--seconds", type=float, default=400, help="no case begins after this time")
    parser.add_argument("--check", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    build = given.build.resolve()
    folder = given.check or given.output
    if folder is None:
        parser.error("-o FOLDER or --check FOLDER")
    if given.check is None:
        folder.mkdir(parents=True, exist_ok=True)
        measure(folder, build, given.only, given.seconds)
    if pd is None:
        print("pandas and pyarrow are not installed: check the folder on another machine")
        return 0
    return 1 if check(folder, build) else 0


if __name__ == "__main__":
    sys.exit(main())
