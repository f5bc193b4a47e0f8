"""Prints the requirements that pyproject.toml states, one a line.

    python scripts/requirements.py build runtime dev

Groups: `build` (the build back end), `runtime` (the package's dependencies), and
the names under [dependency-groups]. Older pips cannot install the last two
without building the package first.
"""

import sys
import tomllib
from pathlib import Path


def requirements(group: str) -> list[str]:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    match group:
        case "build":
            return list(project["build-system"]["requires"])
        case "runtime":
            return list(project["project"]["dependencies"])
        case _:
            return list(project["dependency-groups"][group])


if __name__ == "__main__":
    for group in sys.argv[1:]:
        print("\n".join(requirements(group)))
