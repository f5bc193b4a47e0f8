"""nvbandwidth's JSON (``nvbandwidth -j``), imported as transfers.

The tool reports rates (GB/s, 1e9 bytes) of large copies, not times, and not the buffer size unless
it is the default (512 MiB since version 0.3): seconds = bytes / rate, with the size the user
states. Host memory is pinned. Each cell of a test's matrix is one copy; rows and columns are GPUs
(or the host, in tests with one row). The direction comes from the test's name: a read test copies
from the column's GPU to the row's, a write test from the row's to the column's.

Bidirectional device-to-device tests append three matrices to one: one direction, the other, and
their sums. Not imported, but noted: bidirectional kernel copies (what their rate counts differs
between versions), totals over several copies, latencies, multinode tests, and whatever is unknown.

Source: json_output.cpp, testcases_ce.cpp, testcases_sm.cpp and README of NVIDIA/nvbandwidth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpucast.data import jsonl
from gpucast.data.formats import Format, Imported, Options, entry
from gpucast.data.formats.logs.runs import decimal, rounding_of_six
from gpucast.data.records import Entry
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, remark

_TEST = re.compile(
    r"(?P<what>host_to_device|device_to_host|device_to_device|all_to_host|host_to_all)"
    r"(?P<both>_bidirectional)?_memcpy(?P<mode>_read|_write)?_(?P<by>ce|sm)"
)
_DEVICE = re.compile(r"[0-9]+: (?P<name>.+?) \((?P<pci>[0-9a-fA-F:.]+)\)(: \((?P<host>.*)\))?")

Ends = tuple[str, str]
Cell = tuple[Ends, list[Ends], str]
"""Ends of a copy, those of concurrent copies, and its rate as printed."""


class _UnclearError(Exception):
    """The reason why a test's figures are noted instead of imported."""


def detect(text: str) -> bool:
    """Return whether the text is JSON with a top object ``nvbandwidth``."""
    return text.lstrip().startswith("{") and '"nvbandwidth"' in text[:4096]


def read(text: str, file: str, options: Options) -> Imported:
    """Read transfers, and notes for everything else. Raises InputError."""
    top = _top(text, file)
    imported = Imported([], _machine(top, options))
    for message in ("error", "warning"):
        if message in top:
            imported.entries.append(_note(options, file, f"nvbandwidth's {message}", top[message]))
            text = f"{file}: nvbandwidth's {message}: {_line(top[message])}"
            imported.remarks.append(remark(Kind.DATA, text))
    tests = top.get("testcases", [])
    if not isinstance(tests, list):
        raise InputError("must be a list", file=file, field="testcases")
    for at, test in enumerate(tests):
        if not isinstance(test, dict):
            raise InputError("must be an object", file=file, field=f"testcases[{at}]")
        _read_test(test, f"testcases[{at}]", file, options, imported)
    if not imported.entries:
        raise InputError("holds no test cases", file=file)
    return imported


def _read_test(
    test: dict[str, object], field: str, file: str, options: Options, imported: Imported
) -> None:
    name = str(test.get("name", ""))

    def note(text: str, about: object = None) -> None:
        imported.entries.append(_note(options, file, f"test {name!r}{text}", about))

    try:
        if test.get("status") != "Passed":
            raise _UnclearError(f"its status is {test.get('status')!r}")
        matrix = _matrix(test)
        route, engine, cells = _understood(name, matrix)
    except _UnclearError as reason:
        note(f" was left out: {reason}", test)
        return
    for ends, others, printed in cells:
        rate = decimal(printed)
        if rate is None or rate <= 0:
            note(f": {ends[0]} to {ends[1]}: {printed}")
            continue
        value = {
            "kind": "transfer", "path": options.path, "memory": "pinned", "engine": engine,
            "route": route, "from": ends[0], "to": ends[1], "bytes": options.bytes,
            "concurrent": [{"from": start, "to": end} for start, end in others],
            "seconds": [options.bytes / (rate * 1e9)], "valid": True,
            "uncertainty": rounding_of_six(rate),
        }  # fmt: skip
        try:
            imported.entries.append(entry(options, value, file=file))
        except InputError as error:
            raise InputError(error.message, file=file, field=f"{field}.bandwidth_matrix") from None
    if len(matrix) == 3 * len(matrix[0]):
        note(": the third matrix, sums of both directions, was left out")


def _understood(name: str, matrix: list[list[str]]) -> tuple[str, str, Iterable[Cell]]:
    """Return route and engine of a test's copies, and its cells. Raises _UnclearError."""
    columns = len(matrix[0])
    of_gpus = {f"gpu{at}": rate for at, rate in enumerate(matrix[0])}
    if name == "device_local_copy":
        _check_rows(matrix, 1)
        return "local", "copy", [((gpu, gpu), [], rate) for gpu, rate in of_gpus.items()]
    test = _TEST.fullmatch(name)
    if test is None:
        raise _UnclearError("it is not a copy between two places that gpucast knows")
    by_kernel, both = test["by"] == "sm", test["both"] is not None
    if by_kernel and both:
        raise _UnclearError("what a bidirectional kernel copy's rate counts differs by version")
    engine = "kernel" if by_kernel else "copy"
    if test["what"] == "device_to_device":
        if test["mode"] is None:
            raise _UnclearError("its name says neither read nor write")
        has_sums = both and len(matrix) == 3 * columns
        _check_rows(matrix, 3 * columns if has_sums else columns)
        return "peer", engine, _pairs(matrix, test["mode"] == "_read", both)
    _check_rows(matrix, 1)
    down = test["what"] in ("device_to_host", "all_to_host")
    everybody = of_gpus if test["what"] in ("all_to_host", "host_to_all") else ()

    def ends(gpu: str) -> Ends:
        return (gpu, "host") if down else ("host", gpu)

    def others(gpu: str) -> list[Ends]:
        back = [ends(gpu)[::-1]] if both else []
        for other in everybody:
            if other != gpu:
                back += [ends(other), ends(other)[::-1]] if both else [ends(other)]
        return back

    cells = [(ends(gpu), others(gpu), rate) for gpu, rate in of_gpus.items()]
    return "d2h" if down else "h2d", engine, cells


def _pairs(matrix: list[list[str]], read: bool, both: bool) -> Iterator[Cell]:
    size = len(matrix[0])
    for at, row in enumerate(matrix[: 2 * size if both else size]):
        for column, rate in enumerate(row):
            if at % size == column:
                continue  # a GPU with itself is never measured
            here, peer = f"gpu{at % size}", f"gpu{column}"
            # With sums, both kinds of test list column -> row first, then row -> column.
            reads = at < size if both and len(matrix) == 3 * size else read
            ends = (peer, here) if reads else (here, peer)
            yield ends, [ends[::-1]] if both else [], rate


def _check_rows(matrix: list[list[str]], rows: int) -> None:
    if len(matrix) != rows:
        raise _UnclearError(f"its matrix has {len(matrix)} rows instead of {rows}")


def _matrix(test: dict[str, object]) -> list[list[str]]:
    matrix = test.get("bandwidth_matrix")
    if "GB/s" not in str(test.get("bandwidth_description")):
        raise _UnclearError(f"its unit is not GB/s: {_line(test.get('bandwidth_description'))}")
    if (
        not isinstance(matrix, list)
        or not matrix
        or not all(isinstance(row, list) and row and len(row) == len(matrix[0]) for row in matrix)
    ):
        raise _UnclearError("its matrix is empty or ragged")
    return [[str(value) for value in row] for row in matrix]


def _machine(top: dict[str, object], options: Options) -> dict[str, object]:
    tool = {"name": "nvbandwidth"}
    facts: dict[str, object] = {
        "tool": tool,
        "caveats": [
            "nvbandwidth gives rates only: seconds = bytes / rate for buffers of "
            f"{options.bytes} bytes as stated at import; copies by kernels move slightly less. "
            "One figure is the tool's median (or mean) of several."
        ],
    }
    version = top.get("version") or top.get("git_version")
    if version:
        tool["version"] = _line(version)
    if "Driver Version" in top:
        facts["driver"] = _line(top["Driver Version"])
    runtime = top.get("CUDA Runtime Version")
    if isinstance(runtime, int):
        facts["runtime"] = f"CUDA {runtime // 1000}.{runtime % 1000 // 10}"
    devices = top.get("GPU Device list")
    if isinstance(devices, list):
        matches = [_DEVICE.fullmatch(_line(device)) for device in devices]
        facts["gpus"] = [
            {"name": match["name"], "pci": match["pci"]}
            if match
            else {"name": _line(device) or "GPU"}
            for match, device in zip(matches, devices, strict=True)
        ]
        hosts = {match["host"] for match in matches if match and match["host"]}
        if len(hosts) == 1:
            facts["host"] = hosts.pop()
    return facts


def _note(options: Options, file: str, text: str, about: object = None) -> Entry:
    value: dict[str, object] = {"kind": "note", "path": options.path, "text": text}
    if about is not None:
        value["about"] = {"nvbandwidth": about}
    return entry(options, value, file=file)


def _line(value: object) -> str:
    return " ".join(str(value).split())


def _top(text: str, file: str) -> dict[str, object]:
    value = jsonl.load(text, file)
    top = value.get("nvbandwidth") if isinstance(value, dict) else None
    if not isinstance(top, dict):
        raise InputError("missing", file=file, field="nvbandwidth")
    return top


FORMATS = (Format("nvbandwidth", "nvbandwidth's JSON", detect, read),)
