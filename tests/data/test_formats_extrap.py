"""Extra-P's formats: Extra-P reads what gpucast writes, and gpucast reads it back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data import jsonl
from gpucast.data.dataset import Dataset, from_records
from gpucast.data.formats import Format, Options, extrap, formats
from gpucast.data.records import Note, Step
from gpucast.errors import InputError
from gpucast.util.remarks import texts_of
from records_samples import MACHINE, complaint_of, labels, positive, relaxed

OPTIONS = Options(machine="m")
EXTRAP = [formats()[name] for name in ("extrap-json", "extrap-jsonl", "extrap-text")]
INTERPRETER = Path(__file__).parents[2] / ".venv-extrap" / "bin" / "python"


def dataset(series: list[tuple[str, str]], points: dict[tuple[int, int], list[float]]) -> (
    Dataset
):  # fmt: skip
    """The same points for each series of (path, kernel)."""
    values = [
        {"kind": "step", "machine": "m", "path": path, "schedule": "star-serial",
         "kernel": kernel, "n": n, "gpus": gpus, "seconds": seconds}
        for path, kernel in series
        for (n, gpus), seconds in sorted(points.items())
    ]  # fmt: skip
    return from_records("d", [jsonl.record(MACHINE), *map(jsonl.record, values)])


GRID = {(n, gpus): [n / gpus * 1e-6, n / gpus * 1.1e-6] for n in (1000, 2000, 4000, 8000, 16000)
        for gpus in (1, 2, 4, 8, 16)}  # fmt: skip
SAMPLE = dataset([("native", "claret"), ("remote GPU", "größe->%")], GRID)


@pytest.fixture(scope="module")
def extrap_python() -> str:
    """An interpreter with Extra-P, which needs older libraries than gpucast."""
    if not INTERPRETER.exists():
        pytest.skip("no .venv-extrap with Extra-P 4.2.5 in this checkout")
    code = "import extrap.fileio.file_reader.json_file_reader"
    done = subprocess.run(
        [str(INTERPRETER), "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"Extra-P cannot be imported: {done.stderr.splitlines()[-1]}")
    return str(INTERPRETER)


@pytest.mark.parametrize("form", EXTRAP, ids=lambda form: form.name)
def test_each_format_is_told_by_its_content(form: Format) -> None:
    assert form.write is not None
    text = form.write(SAMPLE)
    assert [other.name for other in formats().values() if other.detect(text)] == [form.name]


@relaxed
@given(
    st.sampled_from(EXTRAP),
    st.lists(st.tuples(labels, labels), min_size=1, max_size=3, unique=True),
    st.dictionaries(
        st.tuples(st.integers(1, 10**9), st.integers(1, 65536)),
        st.lists(positive, min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
)
def test_steps_survive_export_and_import(
    form: Format,
    series: list[tuple[str, str]],
    points: dict[tuple[int, int], list[float]],
) -> None:
    data = dataset(series, points)
    assert form.write is not None
    read = form.read(form.write(data), "file", OPTIONS).entries
    assert read == data.steps


@pytest.mark.slow  # Extra-P is set up for slow tests
@pytest.mark.parametrize("form", EXTRAP, ids=lambda form: form.name)
def test_extrap_itself_reads_what_is_exported(
    extrap_python: str, form: Format, tmp_path: Path
) -> None:
    code = """
import json, sys
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.fileio.file_reader.text_file_reader import TextFileReader
reader = TextFileReader() if sys.argv[2] == "extrap-text" else JsonFileReader()
read = reader.read_experiment(sys.argv[1])
print(json.dumps({
    "parameters": [parameter.name for parameter in read.parameters],
    "metrics": [metric.name for metric in read.metrics],
    "callpaths": [path.name for path in read.callpaths],
    "means": {f"{key[0].name}": {str([int(x) for x in each.coordinate.as_tuple()]): each.mean
              for each in values} for key, values in read.measurements.items()},
}))
"""
    assert form.write is not None
    (tmp_path / "data").write_text(form.write(SAMPLE), encoding="utf-8")
    command = [extrap_python, "-X", "utf8", "-c", code, str(tmp_path / "data"), form.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout.splitlines()[-1])
    assert read["parameters"] == ["n", "gpus"]
    assert read["metrics"] == ["seconds"]
    assert set(read["callpaths"]) == set(extrap.series(SAMPLE))
    means = {str([n, gpus]): sum(values) / 2 for (n, gpus), values in GRID.items()}
    for measured in read["means"].values():
        assert measured == pytest.approx(means)


def test_series_at_different_points_are_refused() -> None:
    values = [
        {"kind": "step", "machine": "m", "path": path, "schedule": "mpi", "kernel": "k",
         "n": n, "gpus": 1, "seconds": [1]}
        for path, n in (("a", 10), ("a", 20), ("b", 10))
    ]  # fmt: skip
    data = from_records("d", [jsonl.record(MACHINE), *map(jsonl.record, values)])
    with pytest.raises(InputError, match=r"b->mpi->k has no steps of n = 20 .* choose with --path"):
        extrap.write_json(data)


def test_a_foreign_call_path_becomes_the_kernel() -> None:
    text = '{"params":{"gpus":2,"n":10},"callpath":"main->force","metric":"time","value":[1,2]}\n'
    (step,) = extrap.read_jsonl(text, "f", OPTIONS).entries
    assert isinstance(step, Step)
    assert (step.kernel, step.path, step.n, step.gpus) == ("main->force", "native", 10, 2)
    assert step.seconds == [1, 2]


def test_the_older_json_is_read() -> None:
    value = {
        "parameters": [{"id": 2, "name": "gpus"}, {"id": 1, "name": "n"}],
        "callpaths": [{"id": 1, "name": "main"}],
        "metrics": [{"id": 1, "name": "time"}],
        "coordinates": [
            {"id": 1, "parameter_value_pairs": [
                {"parameter_id": 1, "parameter_value": "1000"},
                {"parameter_id": 2, "parameter_value": "4"},
            ]}
        ],
        "measurements": [
            {"id": at, "coordinate_id": 1, "callpath_id": 1, "metric_id": 1, "value": value}
            for at, value in enumerate((0.5, 0.25))
        ],
    }  # fmt: skip
    (step,) = extrap.read_json(json.dumps(value), "f", OPTIONS).entries
    assert isinstance(step, Step)
    assert (step.n, step.gpus, step.seconds) == (1000, 4, [0.5, 0.25])


def test_other_metrics_are_noted_and_warned_of() -> None:
    text = (
        "PARAMETER n\nPARAMETER gpus\nPOINTS (10 1) (20 1)\n"
        "REGION r\nMETRIC time\nDATA 1 2\nDATA 3\nMETRIC flops\nDATA 7\nDATA 8\n"
    )
    read = extrap.read_text(text, "f", OPTIONS)
    assert [type(entry) for entry in read.entries] == [Step, Step, Note]
    assert texts_of(read.remarks) == ["f: metric 'flops' was left out"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PARAMETER p\nPOINTS 1\nDATA 1\n", "f: parameters: the parameters must be n and gpus"),
        ("PARAMETER n gpus\nPOINTS (1 1)\nDATA 1\nDATA 2\n", "f:4: more DATA lines than POINTS"),
        ("PARAMETER n gpus\nPOINTS (1 1)\nDATA x\n", "f:3: DATA: holds something"),
        ("PARAMETER n gpus\nPOINTS (1)\nDATA 1\n", "f:2: POINTS: a point has 1 coordinates"),
        ("PARAMETER n n gpus\nPOINTS (1 2 1)\nDATA 1\n", "f:2: POINTS: a point has 3 coordinates"),
        ("PARAMETER n gpus\nPOINTS (1 1)\nDATA -1\n", "f:3: seconds[0]: must be greater than 0"),
        ("PARAMETER n gpus\nPOINTS (0 1)\nDATA 1\n", "f:3: n: must be greater than 0"),
        ("PARAMETER n gpus\nPOINTS (1 1)\nFOO 1\n", "f:3: 'FOO' is unknown"),
        ("PARAMETER n gpus\n", "f: holds no step times"),
    ],
)
def test_bad_text_is_named_by_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        extrap.read_text(text, "f", OPTIONS)
    assert str(caught.value).startswith(message)


@relaxed
@given(st.sampled_from(EXTRAP), st.data())
def test_any_mutation_is_read_or_refused_in_one_line(form: Format, data: st.DataObject) -> None:
    assert form.write is not None
    text = list(form.write(dataset([("p", "k")], {(10, 1): [1.0], (20, 2): [2.0, 3.0]})))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] = data.draw(st.sampled_from([*'{}[]()",:01-e\nnNx ', ""]))
    complaint_of(lambda: form.read("".join(text), "f", OPTIONS))
