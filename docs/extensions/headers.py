"""The C++ headers for Breathe: Doxygen reads copies of them whose comments are Doxygen's.

The headers explain themselves in ordinary comments, and Doxygen reads ``///`` and ``///<`` only. A
comment on lines of its own belongs to what follows it, one behind code to that code; one that opens
a file describes the file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

from generated import insert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
PARTS = ("schema", "model", "fit", "support", "records")

OWN = re.compile(r"^(\s*)// ?(.*)$")
BEHIND = re.compile(r"^(\s*[^\s/].*\S) {1,2}// (.*)$")

# Sphinx cannot read these.
DESIGNATED = re.compile(r"\s*\{\s*\.[^;]*\};")

# In a comment these are text, not Doxygen's or HTML's signs.
SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\@<>&#"})


def for_doxygen(text: str) -> str:
    """A header with Doxygen's comments for ordinary ones, and without designated initializers."""
    result: list[str] = []
    for line in DESIGNATED.sub(";", text).splitlines():
        own, behind = OWN.match(line), BEHIND.match(line)
        if own:
            if not result:
                result.append("/// \\file")
            result.append(f"{own[1]}/// {_comment(own[2])}".rstrip())
        elif behind:
            result.append(f"{behind[1]} ///< {_comment(behind[2])}")
        else:
            result.append(line)
    return "\n".join(result) + "\n"


def _comment(text: str) -> str:
    # Indented by four: a formula, which Markdown takes as it is.
    return text if text.startswith("    ") else text.translate(SIGNS)


def _headers(part: str) -> list[Path]:
    # Breathe finds a header by its name alone. The catalogue of scaling terms has that of the other
    # catalogue, and a page of its own (reference/scaling-terms.md).
    named_twice = ROOT / "model" / "include" / "gpucast" / "model" / "scaling"
    headers = (ROOT / part / "include").rglob("*.h")
    return sorted(header for header in headers if named_twice not in header.parents)


def _copy(to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    for part in PARTS:
        for header in _headers(part):
            copy = to / header.relative_to(ROOT / part / "include")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(for_doxygen(header.read_text(encoding="utf-8")), encoding="utf-8")


def sections(part: str) -> str:
    """Markdown: a section for each header of a part."""
    return "\n\n".join(
        f'## {header.name}\n\n`#include "{header.relative_to(ROOT / part / "include")}"`\n\n'
        f"```{{doxygenfile}} {header.name}\n```"
        for header in _headers(part)
    )


def run_doxygen(app: Sphinx) -> None:
    """Write Doxygen's XML beside the site and tell Breathe where."""
    work = Path(app.doctreedir) / "headers"
    _copy(work / "include")
    (work / "xml").mkdir(exist_ok=True)
    settings = (ROOT / "docs" / "Doxyfile").read_text(encoding="utf-8") + (
        f'INPUT = "{work}/include"\nSTRIP_FROM_PATH = "{work}/include"\n'
        f'STRIP_FROM_INC_PATH = "{work}/include"\nOUTPUT_DIRECTORY = "{work}"\n'
    )
    try:
        done = subprocess.run(
            ["doxygen", "-"], input=settings, text=True, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise ExtensionError("no doxygen: scripts/setup.sh docs installs it") from error
    if done.returncode != 0:
        raise ExtensionError(f"doxygen: {done.stderr.strip()}")
    app.config.breathe_projects = {"gpucast": str(work / "xml")}


def setup(app: Sphinx) -> dict[str, bool]:
    # Before Breathe looks for its projects.
    app.connect("builder-inited", run_doxygen, priority=100)
    for part in PARTS:
        insert(app, f"headers of {part}", partial(sections, part))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
