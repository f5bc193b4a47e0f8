"""What recording costs, and whether traces hold what programs did: on a machine with a GPU.

    python lab/benchmarks/trace.py --build build/gpu -o FOLDER  run, then check
    python lab/benchmarks/trace.py --check FOLDER               what came from there, with pyarrow

Each program runs native and recorded in turns, so that both see the same minutes. FOLDER gets
results.jsonl (a line a run), refusals.txt and traces.tar, which holds the smaller traces.
"""

from __future__ import annotations

import argparse
import bisect
import io
import itertools
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

HERE = Path(__file__).resolve().parent
PATIENCE = 60  # s
LARGEST, ALL = 3_000_000, 15_000_000  # bytes of a trace that is kept, and of them together


@dataclass(frozen=True)
class Case:
    """A program to record.

    Attributes:
        whole: whether all that it asked has to be in the trace.
        limit: of its step's growth by being recorded, a share; None where none is promised.
        size: of its trace at most, bytes.
        variables: of the recorder's environment (trace/src/settings.h).
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
    """All of them, what recording costs first."""
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
    """What light phases cost: programs that are in one nearly all the time.

    Those whose name ends with ``begin`` are so from the first call: what differs from the others is
    what remains when the GPU's work is no longer recorded.
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
    """Native and recorded runs in turns; a result each."""
    trace = folder / f"{case.name}.trace"
    gpucast = [sys.executable, "-m", "gpucast.cli", "trace", "--steps", "0", "--force"]
    paths = [str(HERE.parent / "python"), os.environ.get("PYTHONPATH", "")]
    variables = os.environ | {
        "GPUCAST_TRACE_LIB": str(build / "trace"),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "GPUCAST_TRACE_LOG": "1",  # whether NVTX asked for us, and what CUPTI said
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
            }


def finished(command: list[str], variables: dict[str, str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; what hangs is ended with all that it started."""
    process = subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, error = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, error = process.communicate()
        error += f" hung for {PATIENCE} s"
    return process.returncode, out, error


def refusals(folder: Path, build: Path) -> Iterator[str]:
    """Programs that cannot be recorded: what is said, and the exit status."""
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
    """All cases, or those of ``only``; none is begun after so many seconds."""
    end = time.monotonic() + seconds
    with (folder / "results.jsonl").open("w") as results:
        known = [] if only == "overhead" else cases(build)
        for case in known if only is None else known + overhead(build):
            if time.monotonic() > end:
                print(f"{case.name}: not begun")
            elif only in (None, "overhead") or case.name in only.split(","):
                begin = time.monotonic()
                ran = []
                for result in run(case, folder, build):
                    results.write(json.dumps(result) + "\n")
                    results.flush()
                    ran.append(result)
                print(f"{case.name}: {time.monotonic() - begin:.1f} s; {_at_a_glance(ran)}")
    if only is None and time.monotonic() < end:
        lines = list(refusals(folder, build))
        (folder / "refusals.txt").write_text("\n".join(lines) + "\n")
        print("\n".join(lines))
    with tarfile.open(folder / "traces.tar", "w") as archive:
        left = ALL
        for trace in sorted(folder.glob("*.trace"), key=lambda each: each.stat().st_size):
            left -= trace.stat().st_size
            if trace.stat().st_size <= LARGEST and left >= 0:
                archive.add(trace, trace.name)
            trace.unlink()


def _at_a_glance(ran: list[dict[str, Any]]) -> str:
    """Median steps (us), exit statuses, and what the last recording said."""
    parts = []
    for recorded, word in ((False, "native"), (True, "recorded")):
        runs = [each for each in ran if each["recorded"] == recorded]
        us = ", ".join(f"{each['said'][0]['median_us']:.2f}" for each in runs if each["said"])
        parts.append(f"{word} {us} (status {', '.join(str(each['status']) for each in runs)})")
    return f"{'; '.join(parts)}; {' | '.join(ran[-1]['stderr'].strip().splitlines())[-400:]}"


# --- checking -----------------------------------------------------------------------------------


class Tables:
    """A trace's tables, all processes together, as columns of numpy."""

    def __init__(self, content: bytes) -> None:
        import pyarrow as pa

        self.processes = []
        names: dict[str, dict[int, str]] = {}
        rows: dict[str, list[dict[str, Any]]] = {}
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.namelist():
                process, _, table = entry.rpartition("/")
                if entry.endswith("process.json"):
                    self.processes.append(json.loads(archive.read(entry)))
                elif entry.endswith(".arrows"):
                    stream = pa.ipc.open_stream(archive.read(entry))
                    batches = []
                    try:
                        batches.extend(stream)
                    except pa.ArrowInvalid:
                        print(f"  {entry}: cut off")
                    table_rows = pa.Table.from_batches(batches, stream.schema).to_pylist()
                    for row in table_rows:
                        row["process"] = process
                    rows.setdefault(table.removesuffix(".arrows"), []).extend(table_rows)
        for row in rows.get("names", []):
            names.setdefault(row["process"], {})[row["id"]] = row["text"]
        self._rows, self._names = rows, names

    def of(self, table: str, **wanted: int) -> list[dict[str, Any]]:
        """Rows whose columns have these values."""
        rows = self._rows.get(table, [])
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]

    def name(self, row: dict[str, Any]) -> str:
        return self._names.get(row["process"], {}).get(row["name"], "")


def counted(tables: Tables) -> Counter[str]:
    """What is in a trace, in the words of the probe."""
    found = Counter(tables.name(call) for call in tables.of("calls"))
    kernels = tables.of("work", kind=0)
    found["kernels"] = sum(row["graph"] == 0 for row in kernels)
    found["graph kernels"] = len(kernels) - found["kernels"]
    for word, direction in {"h2d": 1, "d2h": 2, "d2d": 8}.items():
        copies = tables.of("work", kind=1, direction=direction)
        found[word] = len(copies)
        found[f"{word} bytes"] = sum(row["bytes"] for row in copies)
    sets = tables.of("work", kind=2)
    found["memset"], found["memset bytes"] = len(sets), sum(row["bytes"] for row in sets)
    words = ("event waits", "stream waits for event", "stream waits", "device waits", "recorded")
    for kind, word in enumerate(words, start=1):
        found[word] = len(tables.of("waits", kind=kind))
    found["ranges"] = len(tables.of("ranges"))
    return found


def findings(case: Case, tables: Tables, said: list[dict[str, Any]]) -> Iterator[str]:
    """What is wrong with a trace; nothing where all is right."""
    if other := {row["full"] for row in tables.of("phases")} - {0, 1, 2}:
        yield f"phases of kinds {sorted(other)}, which this gpucast does not know"
        return
    found, asked = counted(tables), Counter[str]()
    light = len(tables.of("phases", full=0))
    for each in said:
        asked.update(each["asked"])
    for word, count in asked.items():
        calls_alone = word.startswith(("cuda", "cu")) or word == "ranges"
        if case.whole and (calls_alone or not light) and found[word] != count:
            # Without a light phase all that was asked is there; calls always are.
            yield f"{word}: {found[word]}, asked for {count}"
    for process in tables.processes:
        for word in ("lost", "untimed"):
            if process[word]:
                yield f"{process[word]} records {word}"
    calls = {(row["process"], row["correlation"]): row for row in tables.of("calls")}
    if len(calls) != len(tables.of("calls")):
        several = Counter((row["process"], row["correlation"]) for row in tables.of("calls"))
        shared = sum(count for count in several.values() if count > 1)
        yield f"{shared} calls bear a number that others bear, too"
    orphans = [
        row for row in tables.of("work") if (row["process"], row["correlation"]) not in calls
    ]
    # A process that is cut off may have lost the call's record, which ends after the work's.
    if len(orphans) > sum(each["ended"] == "open" for each in tables.processes):
        yield f"{len(orphans)} pieces of work without their call"
    if light:
        yield from _misplaced(tables)
        return  # a wait may be recorded, and not the recording of its event
    recorded = {(row["process"], row["recording"]) for row in tables.of("waits", kind=5)}
    for kind in (1, 2):
        waits = tables.of("waits", kind=kind)
        lost = sum((row["process"], row["recording"]) not in recorded for row in waits)
        if lost:
            yield f"{lost} of {len(waits)} waits of kind {kind} without the recording"


class Phases:
    """In which phase a moment is: its row, or None."""

    def __init__(self, tables: Tables) -> None:
        self._rows = {
            process: sorted(
                (row for row in tables.of("phases") if row["process"] == process),
                key=lambda row: row["start_ns"],
            )
            for process in {row["process"] for row in tables.of("phases")}
        }
        self._starts = {
            process: [row["start_ns"] for row in rows] for process, rows in self._rows.items()
        }

    def of(self, process: str, start_ns: int, end_ns: int) -> dict[str, Any] | None:
        at = bisect.bisect_right(self._starts.get(process, []), start_ns) - 1
        row = self._rows[process][at] if at >= 0 else None
        return row if row is not None and end_ns <= row["end_ns"] else None


ASKS = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpy",
        "cudaMemcpyAsync", "cudaMemsetAsync", "cudaGraphLaunch")  # fmt: skip


def _misplaced(tables: Tables) -> Iterator[str]:
    """Work that is missing in full phases, or there in light ones; how far from a switch."""
    phases = Phases(tables)
    worked = Counter((row["process"], row["correlation"]) for row in tables.of("work"))
    usual = Counter[int]()
    full = []
    counts, late, early = Counter[str](), [], []
    for call in tables.of("calls"):
        if tables.name(call) == "cudaStreamEndCapture":
            late, early = [], []  # launches that a graph captured
        if tables.name(call) not in ASKS:
            continue
        phase = phases.of(call["process"], call["start_ns"], call["end_ns"])
        there = worked[call["process"], call["correlation"]]
        if phase is None:
            counts["between"] += 1
        elif phase["full"] == 2:
            counts["without kernels, which the recorder noticed"] += 1
        elif phase["full"]:
            counts["full"] += 1
            if not there:
                late.append((phase["end_ns"] - call["end_ns"]) / 1e3)
                early.append((call["start_ns"] - phase["start_ns"]) / 1e3)
            elif tables.name(call) == "cudaGraphLaunch":
                usual[there] += 1
                full.append(there)
        else:
            counts["light"] += 1
            counts["light with work"] += there > 0
    print(f"  calls that ask for work, by phase: {dict(counts)}")
    if late:
        yield (
            f"{len(late)} of {counts['full']} calls of full phases lack their work; they end "
            f"{min(late):.0f}..{max(late):.0f} us before the phase does, and begin "
            f"{min(early):.0f}..{max(early):.0f} us after it did"
        )
    if counts["light with work"]:
        yield f"{counts['light with work']} of {counts['light']} calls of light phases have work"
    if len(usual) > 1:
        yield f"graph launches with several numbers of nodes: {dict(usual)}"


def steps_by_phase(tables: Tables) -> dict[int, list[float]]:
    """Steps (us) of the first thread, from wait to wait, in full (1) and light (0) phases."""
    phases = Phases(tables)
    names = ("cudaMemcpy", "cudaStreamSynchronize", "cudaEventSynchronize")
    ends: dict[str, list[int]] = {}
    for call in tables.of("calls", thread=0):
        if tables.name(call) in names:
            ends.setdefault(call["process"], []).append(call["end_ns"])
    result: dict[int, list[float]] = {0: [], 1: []}
    for process, times in ends.items():
        times.sort()
        for start, end in itertools.pairwise(times):
            phase = phases.of(process, start, end)
            if phase is not None and phase["full"] in result:
                result[phase["full"]].append((end - start) / 1e3)
    return result


def described(tables: Tables) -> Iterator[str]:
    """What is worth a look."""
    words = ("ended", "calls", "work", "inner")
    yield f"processes {words}: {[tuple(map(each.get, words)) for each in tables.processes]}"
    calls = {(row["process"], row["correlation"]): row for row in tables.of("calls")}
    joined = [
        (calls[key], row)
        for row in tables.of("work")
        if (key := (row["process"], row["correlation"])) in calls
    ]
    if joined:
        early = [work["start_ns"] - call["start_ns"] for call, work in joined]
        yield (
            f"work begins after its call began by {min(early) / 1e3:.1f} us at least, "
            f"{statistics.median(early) / 1e3:.1f} in the median"
        )
    blocking = [
        call["end_ns"] - work["end_ns"]
        for call, work in joined
        if work["kind"] == 1 and work["direction"] == 2 and not work["asynchronous"]
    ]
    if blocking:
        yield (
            f"blocking copies return {min(blocking) / 1e3:.1f} us after their end at least, "
            f"{statistics.median(blocking) / 1e3:.1f} in the median"
        )
    lasted = [(row["full"], (row["end_ns"] - row["start_ns"]) / 1e6) for row in tables.of("phases")]
    yield f"phases (full, ms) {[(full, round(ms, 1)) for full, ms in lasted]}"
    yield f"streams {[(row['stream'], row['flags']) for row in tables.of('streams')][:12]}"
    names = Counter(tables.name(call) for call in tables.of("calls"))
    yield f"calls {dict(names.most_common(14))}"
    copies = Counter(
        (row["direction"], row["from_memory"], row["to_memory"], row["asynchronous"], row["bytes"])
        for row in tables.of("work", kind=1)
    )
    yield f"copies (direction, from, to, asynchronous, bytes) {dict(copies.most_common(8))}"


def check(folder: Path, build: Path) -> int:
    """Print what the runs cost and what is wrong; how many things are."""
    results: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        results.setdefault(result["case"], []).append(result)
    wrong = 0
    with tarfile.open(folder / "traces.tar") as archive:
        traces = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        for case in {case.name: case for case in cases(build) + overhead(build)}.values():
            if case.name in results:
                print(f"== {case.name}")
                problems = list(_costs(case, results[case.name]))
                stream = traces.get(f"{case.name}.trace")
                if stream is not None:
                    tables = Tables(stream.read())
                    for line in described(tables):
                        print(f"  {line}")
                    last = [each for each in results[case.name] if each["recorded"]][-1]
                    problems += findings(case, tables, last["said"])
                    problems += _cost_by_phase(case, tables, results[case.name])
                for problem in problems:
                    print(f"  WRONG: {problem}")
                wrong += len(problems)
    print(f"{wrong} things are wrong" if wrong else "all as it should be")
    return wrong


def _costs(case: Case, results: list[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        if result["status"] != (0 if case.name != "kill" else 137 if result["recorded"] else -9):
            yield f"status {result['status']}: {result['stderr']}"
            return
    steps = {
        recorded: [
            each["said"][0] for each in results if each["recorded"] == recorded and each["said"]
        ]
        for recorded in (False, True)
    }
    last = [each for each in results if each["recorded"]][-1]
    print(
        f"  {last['bytes'] / 1e6:.3g} MB; {' | '.join(last['stderr'].strip().splitlines())[-300:]}"
    )
    if case.size is not None and last["bytes"] > case.size:
        yield f"{last['bytes'] / 1e6:.3g} MB, at most {case.size / 1e6:.3g} promised"
    if all(steps.values()):
        for word in ("median_us", "mean_us"):
            native, recorded = (
                statistics.median(each[word] for each in steps[which]) for which in (False, True)
            )
            more = recorded / native - 1
            print(f"  {word}: native {native:.2f}, recorded {recorded:.2f}: {more:+.1%}")


def _cost_by_phase(case: Case, tables: Tables, results: list[dict[str, Any]]) -> Iterator[str]:
    native = [
        each["said"][0]["median_us"] for each in results if each["said"] and not each["recorded"]
    ]
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
    parser.add_argument("--seconds", type=float, default=400, help="no case begins after them")
    parser.add_argument("--check", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    build = given.build.resolve()
    folder = given.check or given.output
    if folder is None:
        parser.error("-o FOLDER or --check FOLDER")
    if given.check is None:
        folder.mkdir(parents=True, exist_ok=True)
        measure(folder, build, given.only, given.seconds)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        print("no pyarrow here: check what is in the folder elsewhere")
        return 0
    return 1 if check(folder, build) else 0


if __name__ == "__main__":
    sys.exit(main())
