"""What a file may do to its reader: take bounded memory, and change neither screens nor sheets."""

from __future__ import annotations

from pathlib import Path

import pytest

import made_data
from gpucast.data import jsonl
from gpucast.data.loading import read
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.files import check_output, read_bytes
from gpucast.util.number_lists import LARGEST_COUNT, counts, sizes
from gpucast.util.tables import csv_text, one_line, quoted, unquoted

STEP = jsonl.to_line(jsonl.record(made_data.step(216, 1, [1e-3])))


def test_a_device_without_an_end_is_refused() -> None:
    with pytest.raises(InputError, match="/dev/zero: is larger than 1 MiB"):
        read_bytes("/dev/zero", limits.Limit(1 << 20, "bytes"))


def test_a_file_of_exactly_as_much_as_is_read_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    assert len(read_bytes(path, limits.Limit(1000, "bytes"))) == 1000
    with pytest.raises(InputError):
        read_bytes(path, limits.Limit(999, "bytes"))


def test_a_record_of_too_many_samples_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "RECORD", limits.Limit(len(STEP), "bytes"))
    assert len(jsonl.parse(f"{STEP}\n".encode(), "f").records) == 1
    with pytest.raises(InputError, match=r"^f:2: is larger than"):
        jsonl.parse(f"{STEP}\n{STEP} \n".encode(), "f")


@pytest.mark.parametrize(
    ("first_line", "rows"),
    [("a" * 200_000 + ",gpus,seconds\n", "1,1,2\n"), ("[" * 300_000, ""), ('"' * 200_000, "\n1,2")],
)
def test_a_first_line_with_an_endless_field_is_no_header(
    tmp_path: Path, first_line: str, rows: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(first_line + rows)
    with pytest.raises(InputError):
        read(path)


def test_lists_of_numbers_are_as_long_as_a_forecast_can_take() -> None:
    assert len(sizes(f"1..1e9:{LARGEST_COUNT}")) > LARGEST_COUNT / 2
    assert len(counts(f"1-{LARGEST_COUNT}")) == LARGEST_COUNT
    with pytest.raises(InputError, match="up to 100000 values"):
        sizes(f"1..1e9:{LARGEST_COUNT + 1}")
    with pytest.raises(InputError, match="up to 100000 values"):
        counts(f"1-{LARGEST_COUNT + 2}")


def test_an_output_that_is_a_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("elsewhere")
    with pytest.raises(InputError, match="dangling link"):
        check_output(link)


@pytest.mark.parametrize("text", ["=1+1", "+1+cmd", "-2+3", "@SUM(1)", "\tx", "'=1", "''@x"])
def test_what_a_spreadsheet_would_evaluate_is_quoted_and_read_as_it_was(text: str) -> None:
    assert quoted(text) == f"'{text}"
    assert unquoted(f"'{text}") == text


@pytest.mark.parametrize("value", ["", "native", "-1.5", "+2", "it's", "'quoted'", -1.5, None, 3])
def test_what_a_spreadsheet_takes_as_it_is_stays(value: object) -> None:
    assert quoted(value) == value
    assert unquoted(str(value)) == str(value)


def test_a_label_of_a_formula_comes_back_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    columns = ["n", "gpus", "seconds", "program"]
    path.write_text(csv_text(columns, iter([(1000, 1, 0.5, "=HYPERLINK(1)")])))
    assert ",'=HYPERLINK(1)\n" in path.read_text()
    (step,) = read(path).steps
    assert step.program == "=HYPERLINK(1)"


def test_marks_of_direction_and_colours_do_not_reach_a_terminal() -> None:
    assert one_line("\u202eexe.txt") == r"\u202eexe.txt"
    assert one_line("a\x1b[31mred") == r"a\x1b[31mred"
    assert one_line("two\nlines") == "two lines"
    assert one_line("müller") == "müller"


@pytest.mark.parametrize(
    "line",
    [
        STEP[:-1] + ',"n":512}',
        STEP[:-1] + r',"\u006e":512}',
        '{"schema":"gpucast.record/1","kind":"note","text":"x","about":{"a":1,"a":2}}',
    ],
)
def test_a_key_that_is_there_twice_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"^f:1: (n|a): occurs twice"):
        jsonl.parse(f"{line}\n".encode(), "f")


def test_objects_of_one_record_may_have_the_same_keys() -> None:
    line = (
        '{"schema":"gpucast.record/1","kind":"note","text":"a\\"b",'
        '"about":{"a":{"x":1},"b":{"x":1}}}'
    )
    assert len(jsonl.parse(f"{line}\n".encode(), "f").records) == 1
