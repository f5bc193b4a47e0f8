"""Reads OpenMM's benchmark.py, as molecular_dynamics.toml describes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.log import Part
from gpucast.errors import InputError
from gpucast.util.remarks import Kind

TESTS = {
    "gbsa": (2489, "GBSA"), "amoebagk": (2489, "AMOEBA GK"), "rf": (23558, "RF"),
    "pme": (23558, "PME"), "amoebapme": (23558, "AMOEBA PME"), "apoa1rf": (92224, "RF"),
    "apoa1pme": (92224, "PME"), "apoa1ljpme": (92224, "LJPME"), "amber20-dhfr": (23558, "PME"),
    "amber20-cellulose": (408609, "PME"), "amber20-stmv": (1067095, "PME"),
}  # fmt: skip
"""Atoms of the tests' systems (DHFR without and with water, ApoA1, AMBER 20's), and methods."""
_SIZES = ("atoms", "num_atoms", "particles")
_HOST_PLATFORMS = ("CPU", "Reference")
_ENTRY = (
    r"^(?P<test>\S+) +(?P<precision>\w+) +(?P<constraints>\w+) +(?P<hydrogen_mass>\S+) +"
    r"(?P<timestep_in_fs>[0-9.eE+-]+) +(?P<ensemble>\w+) +(?P<platform>\w+) +"
    r"(?P<ns_per_day>[0-9.eE+-]+)[ \t]*\n"
)
_LINE = r"^(?P<key>[a-z_]+): (?P<value>[^\n]*)\n"
_OLD_SETTING = r"^(?P<key>Platform|Precision|Device|Step Size|Ensemble): (?P<value>[^\n]+)\n"

Entry = Mapping[str, object]


def read(part: Part) -> None:
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
    table = part.find(part.log.words["table"])
    if table is not None:
        for row in part.all(_ENTRY, table.end()):
            yield row.start(), row.groupdict()
    for old in part.all(part.log.words["old"]):
        settings = {line["key"]: line["value"] for line in part.all(_OLD_SETTING, 0, old.end())}
        entry: dict[str, object] = {
            **old.groupdict(), **{name.lower(): value for name, value in settings.items()},
            "timestep_in_fs": settings.get("Step Size", "").removesuffix(" fs"),
            "platform_properties": {"DeviceIndex": settings.get("Device", "")},
        }  # fmt: skip
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
    atoms, method = TESTS.get(test, (None, test))
    sizes = [_number(entry.get(name)) for name in _SIZES]
    words = [version, method, entry.get("precision"), entry.get("ensemble")]
    part.run(
        place, [seconds[0]], seconds[1], execution=len(part.content.runs),
        n=next((size for size in sizes if size), atoms), gpus=gpus,
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
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = ast.literal_eval(value)
    known = value if isinstance(value, dict) else {}
    return {str(key): str(setting) for key, setting in known.items()}


def _number(value: object) -> float | None:
    """Return a number greater than 0, from JSON or text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    number = runs.decimal(str(value).strip())
    return number if number is not None and number > 0 else None
