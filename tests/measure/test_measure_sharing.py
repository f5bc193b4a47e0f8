"""``data/measure_sharing.py``: what it writes is what gpucast reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gpucast as gc
from waiting import HANG

SCRIPT = Path(__file__).parents[2] / "data" / "measure_sharing.py"

# In place of the mini-app: as many steps as it is told, each of 20 us and 1 ns a particle.
MDAPP = f"""#!{sys.executable}
import json, sys
words = dict(zip(sys.argv[2:], sys.argv[3:]))
seconds = 2e-5 + 1e-9 * int(words["--n"])
print(json.dumps({{"kind": "machine"}}))
print(json.dumps({{"kind": "step", "seconds": [seconds] * 40}}))
"""


def test_its_records_are_those_of_instances(tmp_path: Path) -> None:
    mdapp = tmp_path / "mdapp"
    mdapp.write_text(MDAPP)
    mdapp.chmod(0o755)
    subprocess.run(
        [sys.executable, SCRIPT, "--mdapp", mdapp, "--engine", "host", "--programs", "mdapp",
         "--instances", "1", "2", "--rounds", "1", "--largest", "5000", "-o", tmp_path / "out"],
        check=True, timeout=HANG,
    )  # fmt: skip
    data = gc.load(tmp_path / "out" / "mdapp.jsonl")
    assert [(step.n, step.instances) for step in data.shared_steps] == [(512, 2), (4096, 2)]
    assert {len(step.seconds) for step in data.shared_steps} == {40}
    assert all(step.at_once is not None and 1 <= step.at_once <= 2 for step in data.shared_steps)
    assert {(step.n, step.instances) for step in data.steps} == {(512, None), (4096, None)}
