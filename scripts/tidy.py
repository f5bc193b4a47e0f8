"""Runs clang-tidy over the project's C++ sources, several at a time.

    python scripts/tidy.py [--keep-passed] BUILD_DIR...

Each build folder holds a compile_commands.json; a source that stands in several is checked once, as
the first of them compiles it. CUDA sources are left to nvcc: clang-tidy cannot parse its headers.

``--keep-passed``: a source that passed is not checked again until it, a header of the project, its
compile command or the rule set changes.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CLANG_TIDY = Path(sys.executable).with_name("clang-tidy")
PASSED = ROOT / "build" / "tidy"
PARTS = ("schema", "model", "fit", "records", "support", "devices", "microbench", "mdapp",
         "remote", "trace", "tests")  # fmt: skip


class Source(NamedTuple):
    path: Path
    build_dir: Path
    command: str


def sources(build_dirs: list[Path]) -> list[Source]:
    by_path: dict[Path, Source] = {}
    for build_dir in build_dirs:
        for entry in json.loads((build_dir / "compile_commands.json").read_text()):
            path = Path(entry["directory"], entry["file"]).resolve()
            own = any(path.is_relative_to(ROOT / part) for part in PARTS)
            if own and path.suffix in {".cpp", ".cc", ".cxx"}:
                by_path.setdefault(path, Source(path, build_dir, entry["command"]))
    # The longest first, so that the last one to run is a short one.
    return sorted(by_path.values(), key=lambda source: -source.path.stat().st_size)


def shared_fingerprint() -> bytes:
    """A digest of what every check depends on: the rules, the tool and all headers."""
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(version)
    headers = (path for part in PARTS for path in (ROOT / part).rglob("*.h*"))
    for path in (ROOT / ".clang-tidy", *sorted(headers)):
        digest.update(path.read_bytes())
    return digest.digest()


def check(source: Source, shared: bytes, keep_passed: bool) -> str | None:
    """The findings in one source, or None where it is clean."""
    key = hashlib.sha256(shared + source.command.encode() + source.path.read_bytes()).hexdigest()
    stamp = PASSED / key
    if keep_passed and stamp.exists():
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
    return run.stdout or run.stderr or f"{source.path}: exit status {run.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description="clang-tidy over the project's C++ sources")
    parser.add_argument("--keep-passed", action="store_true")
    parser.add_argument("build_dirs", nargs="+", type=Path)
    options = parser.parse_args()
    PASSED.mkdir(parents=True, exist_ok=True)
    to_check = sources([path.resolve() for path in options.build_dirs])
    shared = shared_fingerprint()
    failed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        checked = pool.map(lambda each: check(each, shared, options.keep_passed), to_check)
        for findings in filter(None, checked):
            failed += 1
            print(findings, flush=True)
    print(f"clang-tidy: {len(to_check)} sources, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
