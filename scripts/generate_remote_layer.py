"""Write facts about remote GPUs for users and the rest of gpucast: supported calls, transports.

docs/reference/remote-calls.md and python/gpucast/data/remote_layer.py, from the sources of remote/
and the entry points of both versions, as a build lists them; run it after any change of either:

    python scripts/generate_remote_layer.py build/wheel/remote/generated/client
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "remote" / "src" / "client"
LAYER = ROOT / "remote" / "include" / "gpucast" / "remote" / "layer.h"
CARRIERS = ROOT / "remote" / "src" / "transport" / "carriers.cpp"
PAGE = ROOT / "docs" / "reference" / "remote-calls.md"
MODULE = ROOT / "python" / "gpucast" / "data" / "remote_layer.py"
USUAL = "cudaErrorNotSupported"

_DEFINED = re.compile(r"^[a-zA-Z][\w ]*[ *]+(?:CALL\()?(cuda[A-Z]\w*)[(),]", re.MULTILINE)
_LISTED = re.compile(r"GPUCAST_ENTRY_POINT\((\w+)\)")
_REFUSAL = re.compile(r'Refusal\{"(\w+)", (\w+)\}')
_NUMBER = re.compile(
    r"^inline constexpr [\w:]+ (\w+)(?: = |\()(?:std::size_t\{)?(\d+)\}?(?: << (\d+))?\)?;",
    re.MULTILINE,
)
_CARRIER = re.compile(r'\.name = "(.+)",\s+\.word = "(.+)"')
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")


def plain(name: str) -> str:
    """The name in the manual: without version and default stream."""
    return _VERSION.sub("", name)


def refused() -> dict[str, str]:
    """Calls that refuse with an error of their own, by name."""
    return dict(_REFUSAL.findall((CLIENT / "refusals.h").read_text()))


def supported() -> set[str]:
    """Calls that remote GPUs do, in one version or in both."""
    sources = (file.read_text() for file in CLIENT.glob("api_*.cpp"))
    return {plain(name) for text in sources for name in _DEFINED.findall(text)} - set(refused())


def _listed(lists: Path, version: int) -> set[str]:
    names = _LISTED.findall((lists / f"entry_points_{version}.inc").read_text())
    return {plain(name) for name in names if name.startswith("cuda")}


def page(lists: Path) -> str:
    """The reference page; ``lists``: the folder where a build lists what each library has."""
    # The headers of the list are not all that the library has.
    there = {13: _listed(lists, 13) | supported(), 12: _listed(lists, 12)}
    done = {version: supported() & there[version] for version in there}
    own = refused()

    def state(name: str, version: int) -> str:
        if name in done[version]:
            return "yes"
        return "refused" if name in there[version] else "not there"

    names = sorted(done[13] | done[12])
    rows = [f"| `{name}` | {state(name, 13)} | {state(name, 12)} |" for name in names]
    left = sorted((there[13] | there[12]) - set(names) - set(own))
    both = [f"- `{name}`: `{error}`" for name, error in sorted(own.items())]
    return "\n".join(
        [
            "# Calls on remote GPUs",
            "",
            "What the client of [remote GPUs](../remote.md) does with each call of the CUDA",
            "runtime, for programs of CUDA 13 and of CUDA 12. It is made by",
            "`scripts/generate_remote_layer.py` from the client's sources.",
            "",
            f"Of {len(there[13])} calls of CUDA 13, {len(done[13])} are done, and of",
            f"{len(there[12])} of CUDA 12, {len(done[12])}. The others can be linked, and return",
            "an error when they are called. Calls of the driver (`cuMemAlloc` and the like) do not",
            "reach remote GPUs.",
            "",
            "## Done",
            "",
            "| call | CUDA 13 | CUDA 12 |",
            "|---|---|---|",
            *rows,
            "",
            "## Refused with an error of their own",
            "",
            *both,
            "",
            f"## Refused with `{USUAL}`",
            "",
            "They name themselves once on stderr.",
            "",
            *(f"- `{name}`" for name in left),
            "",
        ]
    )


def numbers() -> dict[str, int]:
    """What the layer's header states, by name: bytes, cores, microseconds."""
    stated = _NUMBER.findall(LAYER.read_text())
    return {name: int(value) << int(shift or 0) for name, value, shift in stated}


def module() -> str:
    """The Python module that everything else asks."""
    known = numbers()
    calls = textwrap.indent(textwrap.fill(" ".join(sorted(supported())), 96), "    ")
    carriers = _CARRIER.findall(CARRIERS.read_text())
    names = ("auto", "socket", *(name for name, _ in carriers))
    members = [f'    {name.replace("-", "_")} = "{name}"' for name in names]
    words = [f'    "{word}": "{name.replace("-", " ")}",' for name, word in carriers]
    return "\n".join(
        [
            '"""Facts of the layer of remote GPUs.',
            "",
            "Made by scripts/generate_remote_layer.py; do not edit.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from enum import StrEnum",
            "",
            "",
            "class TransportName(StrEnum):",
            '    """Transports that a client can request (``GPUCAST_REMOTE_TRANSPORT``)."""',
            "",
            *members,
            "",
            "",
            "TRANSPORTS = {",
            '    "tls": "TLS",',
            '    "plain": "plain",',
            *words,
            "}",
            '"""Transports of calls, by their words in records."""',
            "",
            f"INLINE_BYTES = {known['inline_beside_channels']}",
            '"""Bytes of the largest copy within its message, with ``CORES`` or more cores."""',
            f"MOST_INLINE_BYTES = {known['most_inline']}",
            f"CORES = {known['cores_for_channels']}",
            f"MOST_UNDER_WAY = {known['most_under_way']}",
            '"""Bytes that a connection can have under way before its sender waits."""',
            f"SPIN = {known['usual_spin']}e-6",
            '"""Seconds for which either side polls for the next message before it sleeps."""',
            "",
            '_CALLS = """',
            calls,
            '"""',
            "SUPPORTED = frozenset(_CALLS.split())",
            '"""Calls of the CUDA runtime that are supported; the others return an error."""',
            "",
        ]
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PAGE.write_text(page(Path(sys.argv[1])), encoding="utf-8")
    MODULE.write_text(module(), encoding="utf-8")
