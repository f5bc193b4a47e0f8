"""How long does ``gpucast figures --paper`` take, from the shell to 30 files? At most 10 s.

    .venv/bin/python benchmarks/figures_speed.py [NATIVE.json REMOTE.json] [--keep]

Ten figures of dataset h200-x4 and of the documents, each as PDF, SVG and PNG, with models of the
native and of the remote path; without model files, the paper's model is fitted first. The least of
several runs is reported, in seconds of the clock and of the processor (all processes). The bound is
for two idle cores. Ends with status 1 if it is missed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import gpucast as gc
from timing import finish, least, parser

DATA, FILES, BOUND = "h200-x4", 30, 10.0
MACHINES = {"native": "h200-f/native", "remote": "h200-f/remote"}
KIND = {"schedule": "star-serial", "kernel": "claret", "memory": "pageable"}


def fitted(folder: Path) -> list[str]:
    """Files of models of both paths."""
    data = gc.load(DATA)
    paths = []
    for name, machine in MACHINES.items():
        path = folder / f"{name}.json"
        gc.fit(data, machine=machine, model="paper", replicates=60, **KIND).save(path)
        paths.append(str(path))
    return paths


def draw(models: Sequence[str], output: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "gpucast.cli", "figures", "--paper", DATA, *models,
         "--model", "none", "-o", str(output), "--force"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    drawn = sum(path.suffix in (".pdf", ".svg", ".png") for path in output.iterdir())
    assert drawn == FILES, f"{drawn} files of figures, not {FILES}"


def main(runs: int = 2) -> int:
    options = parser(__doc__)
    options.add_argument("models", nargs="*", help="NATIVE.json REMOTE.json")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = chosen.models or fitted(folder)
        figure = least(
            f"{FILES} files of figures", lambda: draw(models, folder / "out"), runs, BOUND
        )
    return finish("figures_speed", [figure], chosen.keep)


if __name__ == "__main__":
    sys.exit(main())
