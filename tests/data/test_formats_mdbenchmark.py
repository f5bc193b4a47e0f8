"""CSV of MDBenchmark: nodes become GPUs, ns/day become seconds a step; figures by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import Run, assert_refused
from gpucast.data.formats import Imported, Options, read_file, recognized
from gpucast.data.records import Step
from gpucast.errors import InputError

TABLE = Path(__file__).parent / "logs" / "mdbenchmark.csv"


def imported(path: Path = TABLE, **options: Any) -> Imported:
    stated = {"timestep": 2e-15, "size": 81743, "gpus_per_node": 2, **options}
    return read_file(str(path), Options(**stated))[0]


def steps(**options: Any) -> list[Step]:
    return [entry for entry in imported(**options).entries if isinstance(entry, Step)]


def test_it_is_known_by_its_columns_also_with_an_index_before_them() -> None:
    for before in ("", ","):
        text = (before + TABLE.read_text()).encode()
        form = recognized(text, "a.csv", Options())
        assert form is not None
        assert form.name == "mdbenchmark"
    for own in b"nodes,gpus,n,ns/day\n1,4,1000,10\n", b"atoms,ngpu," + TABLE.read_bytes():
        form = recognized(own, "a.csv", Options())
        assert form is not None
        assert form.name == "csv"


def test_rows_become_steps() -> None:
    records = steps()
    # 86.4 ns/day at 2 fs: 43.2e6 steps a day, 2 ms each.
    assert [step.seconds[0] for step in records] == pytest.approx(
        [0.002, 0.0012, 0.001, 0.008, 0.004]
    )
    assert [step.gpus for step in records] == [2, 4, 8, 24, 4]
    assert [step.nodes for step in records] == [1, 2, 4, 1, 2]
    assert [step.path for step in records] == ["native"] * 3 + ["host", "native"]
    assert {(step.program, step.case) for step in records} == {
        ("GROMACS", "2018.3"),
        ("NAMD", "2.12"),
    }
    assert {(step.n, step.unit) for step in records} == {(81743, "atoms")}
    assert records[0].uncertainty == pytest.approx(0.05 / 86.4)


def test_runs_without_a_result_are_left_out_and_said() -> None:
    (left_out,) = imported().remarks
    assert left_out.text.startswith(f"{TABLE}:4: 1 run without a final time")


ASKED = [
    ({"timestep": None}, "--timestep: ns/day needs the simulated time"),
    ({"gpus_per_node": None}, "--gpus: MDBenchmark counts nodes, not GPUs; import with --gpus N"),
    (
        {"gpus_per_node": None, "gpus": 2},
        "--gpus: 2 would be the GPUs of every run, but these are on 1, 2, 4 nodes; if each node "
        "has 2, import with --gpus-per-node 2",
    ),
    ({"size": None}, "-n: GROMACS does not say the size (atoms)"),
]


@pytest.mark.parametrize(("options", "said"), ASKED)
def test_what_it_does_not_say_is_asked(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as error:
        imported(**options)
    assert said in str(error.value)


BROKEN = [
    ("86.4", "-3", ":2: ns/day: '-3' is not a speed"),
    ("gromacs/2018.3,1,86.4", "gromacs/2018.3,x,86.4", ":2: nodes: 'x' is not a whole number"),
    ("86.4,15,True", "86.4,15,maybe", ":2: gpu: 'maybe' is not True or False"),
    ("False,draco,24", "False,draco,", ":6: ncores: '' is not a whole number"),
]


@pytest.mark.parametrize(("old", "new", "said"), BROKEN)
def test_a_broken_row_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TABLE.read_text().replace(old, new))
    with pytest.raises(InputError) as error:
        imported(path)
    assert said in str(error.value)


def test_the_command_asks_and_then_reads(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "data.jsonl"
    assert_refused(run("import", TABLE, "-o", target), "--timestep")
    status, out, _ = run(
        "import", TABLE, "--timestep", "2fs", "--gpus-per-node", 2, "-n", 81743, "-o", target
    )
    assert status == 0
    assert "GROMACS" in out
