"""Make a release: set its version everywhere, date its changes, commit and tag. Nothing is pushed.

    .venv/bin/python scripts/release.py 0.2.0            on main, with nothing uncommitted
    .venv/bin/python scripts/release.py 0.2.0 --check    whether it could be made; changes nothing

CMakeLists.txt states the version: the Python package and the programs take it from there. Run
`make test-all` before. Then: git push --follow-tags.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

VERSION = re.compile(r"(project\(gpucast VERSION )([0-9.]+)")
CITED = re.compile(r"^(version: )([0-9.]+)$", re.MULTILINE)
CITED_DATE = re.compile(r"^date-released: .*\n", re.MULTILINE)
UNRELEASED = "## [Unreleased]\n"


class ReleaseError(Exception):
    """Why no release is made."""


def released(root: Path, version: str, date: str) -> dict[Path, str]:
    """The files of a release and their new contents.

    Raises:
        ReleaseError: the version is none, or is not after the last; nothing has changed.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"{version!r} is no version such as 1.2.3")
    build, citation, changes = (
        root / name for name in ("CMakeLists.txt", "CITATION.cff", "CHANGELOG.md")
    )
    text = changes.read_text(encoding="utf-8")
    before, heading, after = text.partition(UNRELEASED)
    entries = after.partition("\n## ")[0]
    if not heading or "\n- " not in entries:
        raise ReleaseError(f"{changes.name}: nothing stands under {UNRELEASED.strip()!r}")
    earlier = re.findall(r"^## \[([0-9.]+)\]", after, re.MULTILINE)
    if any(_numbers(version) <= _numbers(released) for released in earlier):
        raise ReleaseError(f"{changes.name}: {version} is not after {earlier[0]}")
    cited = CITED_DATE.sub("", citation.read_text(encoding="utf-8"))
    return {
        changes: f"{before}{heading}\n## [{version}] - {date}\n{after}",
        build: VERSION.sub(rf"\g<1>{version}", build.read_text(encoding="utf-8")),
        citation: CITED.sub(rf"\g<1>{version}\ndate-released: {date}", cited),
    }


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], text=True, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise ReleaseError(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def release(root: Path, version: str, *, check: bool) -> None:
    """Make it, or look whether it could be made. Raises ReleaseError."""
    files = released(root, version, datetime.datetime.now(datetime.UTC).date().isoformat())
    if (branch := _git(root, "branch", "--show-current")) != "main":
        raise ReleaseError(f"this is branch {branch!r}, not main")
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("there are uncommitted changes: commit or stash them")
    if _git(root, "tag", "--list", f"v{version}"):
        raise ReleaseError(f"there is a tag v{version}")
    if check:
        return
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    _git(root, "add", *(str(path) for path in files))
    _git(root, "commit", "--quiet", "--message", f"Release {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"gpucast {version}")


def main() -> int:
    """0; 1 where no release can be made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version")
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse_args()
    try:
        release(Path(__file__).parents[1], given.version, check=given.check)
    except ReleaseError as why:
        print(f"release: {why}", file=sys.stderr)
        return 1
    print(f"v{given.version} could be made" if given.check else "now: git push --follow-tags")
    return 0


if __name__ == "__main__":
    sys.exit(main())
