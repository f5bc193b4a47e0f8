"""Places of programs and libraries that are installed with the package, but outside of it.

pip installs them below a prefix: that of this Python in virtual environments, but ``~/.local`` with
``--user``, ``/usr/local`` for the Python of Debian and Ubuntu, and any folder with ``--target``. A
package finds its prefix from its own location.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def prefixes() -> list[Path]:
    """Return folders whose ``bin`` and ``lib`` may hold installed files, the most probable
    first."""
    packages = Path(__file__).resolve().parents[1]
    below = [packages]  # --target
    if packages.parent.parent.name in ("lib", "lib64"):  # lib/python3.11/site-packages
        below.insert(0, packages.parents[2])
    return list(dict.fromkeys([Path(sys.prefix), *below]))


def place(below: str, file: str) -> Path:
    """Return the folder ``below`` a prefix (``lib/gpucast-trace``) that has a file; if none has it,
    the first folder of the search."""
    folders = [prefix / below for prefix in prefixes()]
    return next((folder for folder in folders if (folder / file).exists()), folders[0])


def program(name: str) -> str | None:
    """Return a program's path: next to this Python, where the package installed it, or in PATH."""
    beside = [Path(sys.executable).parent, *(prefix / "bin" for prefix in prefixes())]
    there = (str(folder / name) for folder in beside)
    return next((file for file in there if os.access(file, os.X_OK)), None) or shutil.which(name)
