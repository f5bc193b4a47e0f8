"""How long does a plan of 1,000 jobs on 3 machines with 64 GPU counts each take? At most 1 s.

    .venv/bin/python benchmarks/plan_speed.py [NATIVE.json REMOTE.json] [--keep]

All jobs have sizes of their own. With probabilities, deadlines, fronts, schedule and bounds; and
once more with iso-efficiency and break-even sizes. Without model files, models are fitted to times
made from the paper's equations. The least of several runs is reported, in seconds of the clock and
of the processor (all threads). Ends with status 1 if the bound is missed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))

import numpy as np

import gpucast as gc
from gpucast.model.fitted import Model
from gpucast.planning.plan import plan_request
from gpucast.planning.reading import of_values, read
from study import TRUTHS, made
from timing import Figure, finish, least, parser

JOBS, COUNTS, BOUND = 1000, 64, 1.0


def plan_text() -> str:
    """The plan's file."""
    lines = ["window: 24h", "machines:"]
    for name, price in (("a", 3.0), ("b", 2.0), ("c", 1.5)):
        lines += [
            f"  - name: {name}",
            f"    gpus: {COUNTS}",
            "    gpus_per_host: 8",
            f"    price_per_gpu_hour: {price}",
            "    price_per_host_hour: 0.5",
        ]
    lines.append("jobs:")
    for i, n in enumerate(np.geomspace(1000, 200_000, JOBS).round()):
        lines.append(f"  - {{name: j{i}, n: {n + i:.0f}, steps: 1e6, deadline: 2h}}")
    return "\n".join(lines) + "\n"


def models(paths: Sequence[str]) -> dict[str, Model]:
    """Models of the three machines: two, the second twice."""
    if paths:
        native, remote = (gc.load_model(path) for path in paths)
    else:
        native, remote = (
            gc.fit(made(TRUTHS[name], 1, 0.0).dataset()) for name in ("native", "virtualized")
        )
    return {"a": native, "b": remote, "c": remote}


def measurements(paths: Sequence[str] = (), runs: int = 5) -> list[Figure]:
    of = models(paths)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(plan_text())
        request = read(path, of)
        reading = least("the file read and checked", lambda: read(path, of), runs, BOUND)
    sizes = of_values({**request.model_dump(), "iso_efficiency": 0.8, "break_even": 0.2}, of)
    return [
        reading,
        least("planned", lambda: plan_request(request), runs, BOUND),
        least("planned, with sizes", lambda: plan_request(sizes), runs, 2 * BOUND),
    ]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("models", nargs="*", help="NATIVE.json REMOTE.json")
    chosen = options.parse_args()
    print(f"{JOBS} jobs x 3 machines x {COUNTS} GPU counts\n")
    return finish("plan_speed", measurements(chosen.models), chosen.keep)


if __name__ == "__main__":
    sys.exit(main())
