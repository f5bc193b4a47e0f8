"""``lab/gpu.sh traces`` over the fake driver: its native GPUs are servers', as its remote ones.

Nothing is recorded here (the fake driver reports nothing to CUPTI, or there is none): this is
reported, and the campaign continues; steps of runs that should be recorded may be missing.
"""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import gpucast as gc
import mdapp
from remote_servers import PROBE, built, fake_kernels, script_environment, servers

ROOT = Path(__file__).parents[2]
HANG = 300
PATHS = ("native", "remote", "remote-sync", "network-50-10")
PROGRAMS = ("many_kernels", "pageable_copies")
KERNELS = fake_kernels("microbench", "mdapp", "trace_programs")
FAKED = {"GPUCAST_FAKE_KERNELS": ":".join(map(str, KERNELS))}

pytestmark = pytest.mark.skipif(
    not PROBE.exists()
    or not all(file.exists() for file in KERNELS)
    or not all(built("..", "trace", "programs", name).exists() for name in PROGRAMS),
    reason=f"no {PROBE}, or no programs to trace beside it",
)


def calls_of_a_program(folder: Path) -> Path:
    """Two steps of a kernel and a wait."""
    folder.mkdir()
    head = {"schema": "gpucast.calls/1", "steps": 2, "threads": 1, "devices": 1, "events": 0}
    asked = {"thread": 0, "device": 0, "stream": 0, "gap": 1e-6, "busy": 1e-5}
    lines = [{**head, "streams": [{"device": 0, "flags": 2}]}]
    lines += [{**asked, "operation": operation, "step": step}
              for step in range(2) for operation in ("launch", "sync_stream")]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "made.jsonl").write_text(text)
    return folder


@pytest.mark.slow
def test_the_script_that_measures_what_traces_are_held_against(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with servers(2, "--spin-us", "0", **FAKED) as running:
        environment = script_environment(
            tmp_path,
            running,
            KERNELS,
            GPUCAST_BUDGET="3",
            GPUCAST_CALLS=str(calls_of_a_program(tmp_path / "calls")),
            GPUCAST_CELL_SECONDS="0.01",
            GPUCAST_FIRST_SIZES="1",
            GPUCAST_INTERVAL="100",
            GPUCAST_PATHS=" ".join(PATHS),
            GPUCAST_PROGRAMS=" ".join(PROGRAMS),
            GPUCAST_RECORDING="20",
        )
        finished = subprocess.run(
            [ROOT / "lab" / "gpu.sh", "traces", folder],
            env=environment, capture_output=True, text=True, timeout=HANG,
        )  # fmt: skip
    output = "".join(path.read_text() for path in sorted(folder.glob("*.txt")))
    assert finished.returncode == 0, finished.stdout + finished.stderr + output
    records = mdapp.records_in((folder / "dataset.jsonl").read_text())
    counts = Counter(
        (record["program"], record["n"], record["gpus"], record["path"])
        for record in records
        if record["kind"] == "step" and "program" in record and record["path"] in PATHS
    )
    cells = [("many-kernels", 20, 1), ("many-kernels", 20, 2), ("pageable-copies", 4, 1)]
    visits = {(*cell, path): 2 for cell in cells for path in PATHS}
    assert counts == visits | {("skeleton", 2, 1, path): 1 for path in PATHS}
    assert {record["path"] for record in records if record["kind"] == "transfer"} == set(PATHS)
    assert {record["path"] for record in records if record.get("schedule") == "star-async"} >= set(
        PATHS
    )
    machines = set(gc.load(folder / "dataset.jsonl").machines)
    assert machines >= {f"x2/{path}" for path in PATHS}
    assert {record.name for record in folder.glob("*.xz")} == {"dataset.jsonl.xz", "logs.tar.xz"}
