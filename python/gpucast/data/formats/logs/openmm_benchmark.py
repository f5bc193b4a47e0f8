"""OpenMM's benchmark.py: its table, its lines, its JSON and YAML, and the output of version 7.

Seconds a step are the elapsed time over the steps if both are printed, otherwise from ns/day and
the time step. GPUs are the ids in ``DeviceIndex`` (``Device:`` in version 7), which the table
lacks. Sizes are those of the tests' known systems, unless an entry states ``atoms``.

Source: examples/benchmarks/benchmark.py of openmm/openmm, versions 7 and 8.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Log, Part
from gpucast.errors import InputError
from gpucast.util.remarks import Kind

ATOMS = {
    "gbsa": 2489, "amoebagk": 2489, "rf": 23558, "pme": 23558, "amoebapme": 23558,
    "apoa1rf": 92224, "apoa1pme": 92224, "apoa1ljpme": 92224, "amber20-dhfr": 23558,
    "amber20-cellulose": 408609, "amber20-stmv": 1067095,
}  # fmt: skip
"""Atoms of the tests' systems: DHFR without and with water, ApoA1, and the AMBER 20 suite."""

_METHODS = {
    "gbsa": "GBSA", "amoebagk": "AMOEBA GK", "rf": "RF", "pme": "PME", "amoebapme": "AMOEBA PME",
    "apoa1rf": "RF", "apoa1pme": "PME", "apoa1ljpme": "LJPME", "amber20-dhfr": "PME",
    "amber20-cellulose": "PME", "amber20-stmv": "PME",
}  # fmt: skip
_SIZES = ("atoms", "num_atoms", "particles")
_HOST_PLATFORMS = ("CPU", "Reference")
_TABLE = r"^Test +Precision +Constraints +H mass[^\n]*ns/day[ \t]*\n"
_ENTRY = (
    r"^(?P<test>\S+) +(?P<precision>\w+) +(?P<constraints>\w+) +(?P<hydrogen_mass>\S+) +"
    r"(?P<timestep_in_fs>[0-9.eE+-]+) +(?P<ensemble>\w+) +(?P<platform>\w+) +"
    r"(?P<ns_per_day>[0-9.eE+-]+)[ \t]*\n"
)
# With a value after it, because tables of other programs have such columns, too.
_KEY = r"\b(?:ns_per_day|timestep_in_fs)[\"']?\s*:"
_LINE = r"^(?P<key>[a-z_]+): (?P<value>[^\n]*)\n"
_OLD = (
    r"^Test: (?P<test>\S+)[^\n]*\n(?P<between>(?:(?!Test:)[^\n]*\n)*?)"
    r"Integrated (?P<steps>[0-9]+) steps in (?P<elapsed_time>[0-9.eE+-]+) seconds"
)
_OLD_SETTING = r"^(?P<key>Platform|Precision|Device|Step Size|Ensemble): (?P<value>[^\n]+)\n"

Entry = Mapping[str, object]


def _read(part: Part) -> None:
    """Report the tests' runs. Raises InputError if JSON or YAML is invalid."""
    start = part.text.lstrip()[:1]
    if start == "{" or part.find("^benchmarks:"):
        _read_structure(part, is_json=start == "{")
        return
    version = None
    for place, entry in sorted(_printed(part), key=lambda found: found[0]):
        version = entry.get("openmm_version", version)
        _add(part, entry, place, version)
    if not part.content.runs:
        part.unfinished()


def _read_structure(part: Part, *, is_json: bool) -> None:
    import yaml  # slow to import

    try:
        top = json.loads(part.text) if is_json else yaml.safe_load(part.text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise InputError(f"not valid {'JSON' if is_json else 'YAML'}: {what}") from None
    system = top.get("system") if isinstance(top, dict) else None
    system = system if isinstance(system, dict) else {}
    entries = top.get("benchmarks") if isinstance(top, dict) else None
    if not isinstance(entries, list):
        raise InputError("must be a list", field="benchmarks")
    for at, entry in enumerate(entries):
        version = system.get("openmm_version")
        if not (isinstance(entry, dict) and _add(part, entry, 0, version)):
            text = f"benchmarks[{at}] has no speed: left out"
            part.remark(text, "benchmarks", Kind.UNFINISHED)
    if isinstance(system.get("gpu"), str) and system["gpu"].strip():
        part.content.gpu_names.append(" ".join(system["gpu"].split()))


def _printed(part: Part) -> Iterator[tuple[int, Entry]]:
    """Yield places and fields of the tests in a table, in lines, or in the output of version 7."""
    table = part.find(_TABLE)
    if table is not None:
        for row in part.all(_ENTRY, table.end()):
            yield row.start(), row.groupdict()
    for old in part.all(_OLD):
        settings = {line["key"]: line["value"] for line in part.all(_OLD_SETTING, 0, old.end())}
        entry: dict[str, object] = {
            "test": old["test"],
            "steps": old["steps"],
            "elapsed_time": old["elapsed_time"],
            "platform": settings.get("Platform"),
            "precision": settings.get("Precision"),
            "ensemble": settings.get("Ensemble"),
            "timestep_in_fs": settings.get("Step Size", "").removesuffix(" fs"),
            "platform_properties": {"DeviceIndex": settings.get("Device", "")},
        }
        yield old.start(), entry
    block: dict[str, object] = {}
    place = 0
    for line in part.all(_LINE):
        if line["key"] == "test":
            block, place = {"openmm_version": block.get("openmm_version")}, line.start()
        block[line["key"]] = line["value"].strip()
        if line["key"] == "ns_per_day" and "test" in block:
            yield place, dict(block)
            block = {"openmm_version": block.get("openmm_version")}


def _add(part: Part, entry: Entry, place: int, version: object) -> bool:
    """Add a test's run if it has a time; return whether it did."""
    timestep = _number(entry.get("timestep_in_fs"))
    seconds = _seconds(entry, timestep)
    if seconds is None:
        return False
    test, platform = str(entry.get("test", "")), str(entry.get("platform") or "")
    properties = _properties(entry.get("platform_properties"))
    host = platform in _HOST_PLATFORMS
    ids = re.split(r"[, ]+", properties.get("DeviceIndex", "").strip())
    gpus = len(ids) if ids != [""] else None
    if host:
        gpus = int(_number(properties.get("Threads")) or 0) or None
    sizes = [_number(entry.get(name)) for name in _SIZES]
    words = [version, _METHODS.get(test, test), entry.get("precision"), entry.get("ensemble")]
    part.run(
        place, [seconds[0]], seconds[1], execution=len(part.content.runs),
        n=next((size for size in sizes if size), ATOMS.get(test)), gpus=gpus,
        unclear=f"test {test!r} does not say on which devices it ran",
        path=runs.HOST if host else None,
        case=", ".join(str(word) for word in words if word) or None,
        timestep=timestep / runs.FEMTOSECONDS if timestep else None,
    )  # fmt: skip
    return True


def _seconds(entry: Entry, timestep: float | None) -> tuple[float, float | None] | None:
    """Return the seconds a step and the relative half-width of their rounding."""
    steps, elapsed = _number(entry.get("steps")), _number(entry.get("elapsed_time"))
    if steps and elapsed:
        return elapsed / steps, None
    speed = _number(entry.get("ns_per_day"))
    if not speed or not timestep:
        return None
    seconds = timestep / runs.FEMTOSECONDS * runs.NANOSECONDS * runs.DAY / speed
    return seconds, runs.rounding_of_six(speed)


def _properties(value: object) -> dict[str, str]:
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return {}
    return (
        {str(key): str(setting) for key, setting in value.items()}
        if isinstance(value, dict)
        else {}
    )


def _number(value: object) -> float | None:
    """Return a number greater than 0, from JSON or text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    number = runs.decimal(str(value).strip())
    return number if number is not None and number > 0 else None


LOG = Log(
    name="openmm", what="OpenMM's benchmark.py", read=_read, program="OpenMM", unit="atoms",
    marks=[_KEY, _TABLE, _OLD],
)  # fmt: skip
FORMATS = (LOG.format,)
