"""Users' CSV: read as they write it; wrong values are named by line and column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data import dataset, jsonl
from gpucast.data.formats import Options, csv_tables, formats, read_file
from gpucast.data.records import Step
from gpucast.errors import InputError
from records_samples import MACHINE, complaint_of, labels, positive, relaxed

OPTIONS = Options(machine="m")
CSV, TRANSFERS = formats()["csv"], formats()["csv-transfers"]


def steps(text: str, options: Options = OPTIONS) -> list[Step]:
    read = CSV.read(text, "steps.csv", options)
    return [entry for entry in read.entries if isinstance(entry, Step)]


def error_of(text: str) -> str:
    with pytest.raises(InputError) as caught:
        CSV.read(text, "steps.csv", OPTIONS)
    return str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_line_ends_and_case_do_not_matter(delimiter: str, end: str) -> None:
    text = end.join(["N,GPUs,Seconds", "1e3,1,0.5", "", "1000,2,.25", ""])
    first, second = steps(text.replace(",", delimiter))
    assert (first.n, first.gpus, first.seconds) == (1000, 1, [0.5])
    assert (second.gpus, second.seconds) == (2, [0.25])


def test_rows_of_one_cell_become_one_record_in_order() -> None:
    records = steps("n,gpus,seconds\n10,1,3\n20,1,9\n10,1,1\n10,1,2\n")
    assert [(step.n, step.seconds) for step in records] == [(10, [3, 1, 2]), (20, [9])]


def test_repeat_orders_the_samples() -> None:
    (record,) = steps("n,gpus,seconds,repeat\n10,1,3,2\n10,1,1,0\n10,1,2,1\n")
    assert record.seconds == [1, 2, 3]


def test_the_same_repeat_twice_names_both_lines() -> None:
    text = "n,gpus,seconds,repeat\n10,1,3,1\n20,1,3,1\n10,1,1,1\n"
    assert error_of(text) == ("steps.csv:4: repeat: 1 occurs twice for this cell, first in line 2")


def test_labels_of_the_file_win_over_the_options() -> None:
    options = Options(machine="m", path="remote", schedule="mpi", kernel="mine", block=128)
    first, second = steps("n,gpus,seconds,path\n1,1,1,\n1,1,1,host\n", options)
    assert (first.path, first.schedule, first.kernel, first.block) == ("remote", "mpi", "mine", 128)
    assert second.path == "host"


def test_comments_and_a_byte_order_mark_before_the_header_are_skipped(tmp_path: Path) -> None:
    file = tmp_path / "steps.csv"
    file.write_text("\ufeff# made by hand\nn,gpus,seconds\n1,1,1\n", encoding="utf-8")
    read, form = read_file(str(file), OPTIONS)
    assert (len(read.entries), form.name) == (1, "csv")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,1,1", "n: must be greater than 0, got 0"),
        ("1e19,1,1", "n: must be at most 1e+18, got 1e+19"),
        ("1.5e,1,1", "n: '1.5e' is not a number"),
        ("1_000,1,1", "n: '1_000' is not a number"),
        (
            ",1,1",
            "n: missing; if a blank means the value above it, import with --columns n=n:down",
        ),
        ("10,0,1", "gpus: must be at least 1, got 0"),
        ("10,1000001,1", "gpus: must be at most 1000000, got 1000001"),
        ("10,1,0", "seconds: must be greater than 0, got 0"),
        ("10,1,-1e-3", "seconds: must be greater than 0, got -1e-3"),
        ("10,1,inf", "seconds: 'inf' is not a number; leave the cell empty if a run has no time"),
        ("10,1,1e999", "seconds: '1e999' is not a finite number"),
        ("10,1,1e-999", "seconds: must be greater than 0, got 1e-999"),
        ("10,1", "has 2 fields where the header has 3"),
        ('10,1,"1', "not valid CSV: unexpected end of data"),
    ],
)
def test_a_bad_value_is_named_by_line_and_column(row: str, message: str) -> None:
    assert error_of(f"n,gpus,seconds\n10,1,1\n{row}") == f"steps.csv:3: {message}"


def test_columns_that_are_not_used_are_named_in_one_note() -> None:
    read = CSV.read("n,gpus,seconds,colour,mood\n1,1,1,red,\n", "steps.csv", OPTIONS)
    assert read.notes == ["2 columns not used: 'colour', 'mood'"]


def test_of_many_columns_that_are_not_used_some_are_named() -> None:
    more = [f"c{i}" for i in range(20)]
    header, row = ",".join(["n,gpus,seconds", *more]), ",".join(["1,1,1", *more])
    (note,) = CSV.read(f"{header}\n{row}\n", "steps.csv", OPTIONS).notes
    assert note.startswith("20 columns not used: 'c0', 'c1', ")
    assert note.endswith("'c7', and 12 more")


def test_rows_without_a_time_are_left_out_and_counted() -> None:
    text = "n,gpus,seconds\n1,1,1\n1,2,\n2,1,NaN\n,,\n2,2,n/a\n"
    read = CSV.read(text, "steps.csv", OPTIONS)
    assert len(read.entries) == 1
    assert read.notes == ["3 rows without a time left out"]


def test_a_table_without_any_time_is_an_error() -> None:
    assert error_of("n,gpus,seconds\n1,1,\n") == "steps.csv: seconds: no row has a time"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n,gpus,seconds,n\n1,1,1,1\n", "steps.csv:1: column 'n' occurs twice"),
        ("n,gpus,seconds\n", "steps.csv: holds no line below the header"),
        ("# only a comment\n", "steps.csv: holds no header line"),
    ],
)
def test_wrong_headers_are_errors(text: str, message: str) -> None:
    assert error_of(text).startswith(message)


def test_a_wrong_schedule_is_named() -> None:
    assert 'schedule: "star" is unknown' in error_of("n,gpus,seconds,schedule\n1,1,1,star\n")


def test_transfers_are_read_by_route() -> None:
    text = "bytes,seconds,route,memory\n8,1e-6,H2D,pinned\n8,2e-6,h2d,pinned\n8,1e-6,peer,\n"
    first, second = TRANSFERS.read(text, "t.csv", OPTIONS).entries
    assert jsonl.to_object(first)["seconds"] == [1e-6, 2e-6]
    assert (jsonl.to_object(second)["from"], jsonl.to_object(second)["memory"]) == (
        "gpu0",
        "unknown",
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("8,1,up", "route: 'up' is unknown; it is one of h2d, d2h, peer, staged, local, net"),
        ("0,1,h2d", "bytes: must be at least 1, got 0"),
        ("8,1,", "route: missing; it is one of h2d, d2h, peer, staged, local, net"),
    ],
)
def test_bad_transfers_are_named(row: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        TRANSFERS.read(f"bytes,seconds,route\n{row}\n", "t.csv", OPTIONS)
    assert str(caught.value) == f"t.csv:2: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"n,gpus,seconds\n1,1,1\n\xff\n", "not UTF-8 text"),
        (b"a,b\n1,2\n", "is of no known format"),
        (b'{"schema":"gpucast.record/1","kind":"note"}\n', "holds gpucast records already"),
    ],
)
def test_files_of_no_known_format_are_errors(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_file(str(tmp_path / "x"), OPTIONS)


rows = st.lists(
    st.tuples(labels, labels, st.integers(1, 10**9), st.integers(1, 65536), positive),
    min_size=1,
    max_size=8,
)


@relaxed
@given(rows)
def test_steps_survive_export_and_import(
    made: list[tuple[str, str, int, int, float]],
) -> None:
    # Spaces around a field are not kept.
    values = [
        {"kind": "step", "machine": "m", "path": path.strip() or "p", "schedule": "mpi",
         "kernel": kernel.strip() or "k", "n": n, "gpus": gpus, "seconds": [seconds]}
        for path, kernel, n, gpus, seconds in made
    ]  # fmt: skip
    data = dataset.from_records("d", [jsonl.record(MACHINE), *map(jsonl.record, values)])
    text = csv_tables.write_steps(data)
    sure = replace(OPTIONS, columns={"seconds": "seconds:s"})  # however long they are
    again = dataset.from_records("d", [jsonl.record(MACHINE), *steps(text, sure)])
    assert sorted(samples_of(again)) == sorted(samples_of(data))
    assert csv_tables.write_steps(again).count("\n") == len(made) + 1


def samples_of(data: dataset.Dataset) -> list[tuple[str, str, int, int, float]]:
    return [
        (step.path, step.kernel, step.n, step.gpus, seconds)
        for step in data.steps
        for seconds in step.seconds
    ]


@relaxed
@given(st.data())
def test_any_mutation_of_a_valid_file_is_read_or_named_by_line(data: st.DataObject) -> None:
    text = list("n,gpus,seconds\n1000,1,0.5\n1000,2,0.25\n")
    at = data.draw(st.integers(15, len(text) - 1))
    text[at] = data.draw(st.characters(codec="utf-8"))
    complaint = complaint_of(lambda: CSV.read("".join(text), "steps.csv", OPTIONS))
    assert complaint is None or complaint.line is not None
