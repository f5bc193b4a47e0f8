"""Runs clang-tidy over the project's C++ sources, several at a time.

    python scripts/tidy.py [--changed-since COMMIT] BUILD_DIR...

Each build folder holds a compile_commands.json; a source that stands in several
is checked once, as the first of them compiles it. A source that passed is not
checked again until it, a header of the project, its compile command or the rule
set changes. CUDA sources are left to nvcc: clang-tidy cannot parse its headers.

``--changed-since``: only sources that differ from that commit's, or include a header that does; all
of them where the rules, the tool or what all compile commands are made of have changed, or where
the commit is not known here. Parsing is what takes the time, and at that commit all had passed.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLANG_TIDY = Path(sys.executable).with_name("clang-tidy")
PASSED = ROOT / "build" / "tidy"
PARTS = (
    "schema",
    "model",
    "fit",
    "support",
    "records",
    "devices",
    "microbench",
    "mdapp",
    "remote",
    "tests",
)


@dataclass(frozen=True)
class Source:
    path: Path
    build_dir: Path
    command: str


def own(path: Path) -> bool:
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PARTS


def sources(build_dirs: list[Path]) -> list[Source]:
    found: dict[Path, Source] = {}
    for build_dir in build_dirs:
        for entry in json.loads((build_dir / "compile_commands.json").read_text()):
            path = Path(entry["directory"], entry["file"]).resolve()
            if own(path) and path.suffix in {".cpp", ".cc", ".cxx"}:
                found.setdefault(path, Source(path, build_dir, entry["command"]))
    # The longest first, so that the last one to run is a short one.
    return sorted(found.values(), key=lambda source: -source.path.stat().st_size)


RULES = re.compile(
    r"(^|/)\.clang-tidy$|^scripts/constraints\.txt$|^cmake/|^CMakePresets\.json$|^CMakeLists\.txt$"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def git(*words: str) -> list[str] | None:
    """What it prints, line by line; None where it fails."""
    run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.splitlines() if run.returncode == 0 else None


class Includes:
    """The project's headers that a file includes, directly or not."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Path]] = {}
        for part in PARTS:
            for path in (ROOT / part).rglob("*.h*"):
                self._by_name.setdefault(path.name, []).append(path)
        self._direct: dict[Path, set[Path]] = {}

    def direct(self, path: Path) -> set[Path]:
        if path not in self._direct:
            self._direct[path] = {
                header
                for text in INCLUDE.findall(path.read_text())
                for header in self._by_name.get(Path(text).name, [])
                if header.as_posix().endswith("/" + text.removeprefix("../"))
            }
        return self._direct[path]

    def all(self, path: Path) -> set[Path]:
        found: set[Path] = set()
        left = [path]
        while left:
            new = self.direct(left.pop()) - found
            found |= new
            left += new
        return found


def changed(found: list[Source], since: str) -> list[Source]:
    """Those that may pass no longer, though all passed at the commit."""
    differing = git("diff", "--name-only", since)
    untracked = git("ls-files", "--others", "--exclude-standard")
    if differing is None or untracked is None:
        return found
    names = {*differing, *untracked}
    if any(RULES.search(name) for name in names):
        return found
    files = {ROOT / name for name in names}
    includes = Includes()
    return [
        source
        for source in found
        if source.path in files or not files.isdisjoint(includes.all(source.path))
    ]


def shared_fingerprint() -> bytes:
    """Of what every check depends on: the rules, the tool and all headers."""
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(version)
    headers = (path for part in PARTS for path in (ROOT / part).rglob("*.h*"))
    for path in (ROOT / ".clang-tidy", *sorted(headers)):
        digest.update(path.read_bytes())
    return digest.digest()


def check(source: Source, shared: bytes) -> str | None:
    """The findings in one source, or None where it is clean."""
    key = hashlib.sha256(shared + source.command.encode() + source.path.read_bytes()).hexdigest()
    stamp = PASSED / key
    if stamp.exists():
        return None
    run = subprocess.run(
        [CLANG_TIDY, "-p", source.build_dir, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-ignored-optimization-argument",
         f"--header-filter=^{ROOT}/({'|'.join(PARTS)})/", source.path],
        capture_output=True, text=True,
    )  # fmt: skip
    if run.returncode == 0:
        stamp.touch()
        return None
    return run.stdout or run.stderr


def main() -> int:
    words = sys.argv[1:]
    since = words[1] if words[0] == "--changed-since" else None
    build_dirs = [Path(word).resolve() for word in (words[2:] if since else words)]
    PASSED.mkdir(parents=True, exist_ok=True)
    known = sources(build_dirs)
    todo = changed(known, since) if since else known
    shared = shared_fingerprint()
    failed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for findings in pool.map(lambda source: check(source, shared), todo):
            if findings is not None:
                failed += 1
                print(findings, flush=True)
    rest = f"; {len(known) - len(todo)} are as they passed at {since}" if since else ""
    print(f"clang-tidy: {len(todo)} sources, {failed} with findings{rest}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
