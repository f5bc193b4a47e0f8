"""Counts what plain English leaves out, in all sources that git tracks; neither count may rise.

    python scripts/prose.py [--list] [--lower]

``of``: sentences in comments and docstrings that begin with "Of" and cannot be read alone.
``names``: variables that are called each, found, said or of, which do not say what they hold.

``--list`` prints where they stand. ``--lower`` writes today's counts to ``prose.json``, where they
are lower; it never raises one.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "scripts" / "prose.json"
PATTERNS = ("*.py", "*.h", "*.cpp", "*.cu", "*.cuh", "*.js", "*.sh", "*.cmake", "*CMakeLists.txt")
OPENS_WITH_OF = re.compile(r"(?:^|[.:;!?]\s+|[#/*\n]\s*)Of\s")
VAGUE = {"each", "found", "said", "of"}
DECLARED = re.compile(rf"\b(?:auto|const|let)\b[\s&*]+({'|'.join(sorted(VAGUE))})\b")

Finding = tuple[str, int]
"""Kind (a key of ``prose.json``) and line."""


def in_python(source: str) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and OPENS_WITH_OF.search(token.string):
            yield "of", token.start[0]
    for node in ast.walk(ast.parse(source)):
        match node:
            # A docstring, also of an attribute.
            case ast.Expr(value=ast.Constant(value=str(text))):
                for _ in OPENS_WITH_OF.finditer(text):
                    yield "of", node.lineno
            case ast.Name(id=name, ctx=ast.Store()) if name in VAGUE:
                yield "names", node.lineno


def elsewhere(source: str, comment: str) -> Iterator[Finding]:
    """Findings in C++, JavaScript, shell and CMake, whose comments begin with ``comment``."""
    for at, line in enumerate(source.splitlines(), start=1):
        code, mark, text = line.partition(comment)
        if mark and OPENS_WITH_OF.search(text.strip()):
            yield "of", at
        if comment == "//":
            for _ in DECLARED.finditer(code):
                yield "names", at


def findings(path: Path) -> Iterator[Finding]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return in_python(source)
    return elsewhere(source, "#" if path.suffix in {".sh", ".cmake", ".txt"} else "//")


def main() -> int:
    tracked = subprocess.run(
        ["git", "ls-files", *PATTERNS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    allowed = json.loads(ALLOWED.read_text())
    counts = dict.fromkeys(allowed, 0)
    for name in tracked.stdout.splitlines():
        for kind, line in findings(ROOT / name) if (ROOT / name).is_file() else ():
            counts[kind] += 1
            if "--list" in sys.argv:
                print(f"{name}:{line}: {kind}")
    if "--lower" in sys.argv:
        allowed = {kind: min(allowed[kind], count) for kind, count in counts.items()}
        ALLOWED.write_text(json.dumps(allowed) + "\n")
    for kind, count in counts.items():
        print(f"{kind}: {count}, at most {allowed[kind]} allowed (scripts/prose.py --list)")
    return int(any(count > allowed[kind] for kind, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
