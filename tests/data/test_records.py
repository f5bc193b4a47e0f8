"""Records are read completely; errors name file, line and field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data import jsonl
from gpucast.errors import InputError
from records_samples import (
    EXAMPLES,
    MACHINE,
    NOTE,
    SCHEMA,
    STEP,
    complaint_of,
    records,
    relaxed,
)


def lines(*values: dict[str, Any]) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def error_of(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        jsonl.parse(content, "data.jsonl")
    return str(caught.value)


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: value["kind"])
def test_an_example_of_each_kind_is_read_and_written_back(value: dict[str, Any]) -> None:
    (record,) = jsonl.parse(lines(value), "data.jsonl").records
    assert json.loads(jsonl.to_line(record)) == value


@relaxed
@given(records)
def test_any_record_survives_writing_and_reading(value: dict[str, Any]) -> None:
    record = jsonl.record(value)
    again = jsonl.parse((jsonl.to_line(record) + "\n").encode(), "data.jsonl").records
    assert again == [record]
    assert json.loads(jsonl.to_line(record)) == value


def test_schema_and_kind_stand_first_in_a_line() -> None:
    start = f'{{"schema":"{SCHEMA}","kind":"step",'
    assert jsonl.to_line(jsonl.record(STEP)).startswith(start)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n: must be greater than 0, got 0"),
        ({"n": 10**18 + 1}, f"n: must be at most 1e+18, got {10**18 + 1}"),
        ({"n": 1.5e18}, "n: must be at most 1e+18, got 1.5e+18"),
        ({"n": True}, "n: must be a number, got true"),
        ({"n": "1000"}, 'n: must be a number, got "1000"'),
        ({"gpus": 0}, "gpus: must be at least 1, got 0"),
        ({"seconds": []}, "seconds: must not be empty, got []"),
        ({"seconds": [0.1, 0]}, "seconds[1]: must be greater than 0, got 0"),
        ({"seconds": [-1]}, "seconds[0]: must be greater than 0, got -1"),
        ({"seconds": [float("nan")]}, "seconds[0]: must be a finite number, got NaN"),
        ({"seconds": [float("inf")]}, "seconds[0]: must be a finite number, got Infinity"),
        ({"seconds": 0.1}, "seconds: must be a list, got 0.1"),
        ({"phases": {"h2d": [-1]}}, "phases.h2d[0]: must be at least 0, got -1"),
        ({"phases": 3}, "phases: must be an object, got 3"),
        ({"bytes": {"h2d": 0}}, "bytes.d2h: missing"),
        ({"bytes": {"h2d": -1, "d2h": 0}}, "bytes.h2d: must be at least 0, got -1"),
        ({"graph": 1}, "graph: must be true or false, got 1"),
        ({"phases": {"hd": [1]}}, "phases.hd: unknown key; did you mean h2d?"),
        ({"uncertainty": -0.1}, "uncertainty: must be at least 0, got -0.1"),
        ({"boundry": "x"}, "boundry: unknown key; did you mean boundary?"),
        ({"path": ""}, 'path: must not be empty, got ""'),
        ({"path": "a\nb"}, 'path: has control characters, got "a\\nb"'),
        (
            {"schedule": "star"},
            'schedule: "star" is unknown; it is one of star-serial, star-async, allgather, mpi',
        ),
        (
            {"kind": "stepp"},
            ('kind: "stepp" is unknown; did you mean step?'),
        ),
        (
            {"schema": "gpucast.record/2"},
            "schema: \"gpucast.record/2\" is not supported; this version reads 'gpucast.record/1'",
        ),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(change: dict[str, Any], message: str) -> None:
    assert error_of(lines(MACHINE, {**STEP, **change})) == f"data.jsonl:2: {message}"


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: value["kind"])
def test_a_field_is_named_alike_in_every_kind_and_a_misspelt_kind_is_recognized(
    value: dict[str, Any],
) -> None:
    kind = value["kind"]
    unknown = error_of(lines({**value, "schemma": 1}))
    assert unknown == "data.jsonl:1: schemma: unknown key; did you mean schema?"
    assert error_of(lines({**value, "kind": kind[:-1]})).endswith(f"did you mean {kind}?")


@pytest.mark.parametrize("field", ["kind", "machine", "path", "n", "seconds", "schema"])
def test_a_missing_field_is_named(field: str) -> None:
    value = {key: member for key, member in STEP.items() if key != field}
    assert error_of(lines(value)).startswith(f"data.jsonl:1: {field}: missing")


def test_the_largest_n_and_unicode_names_are_fine() -> None:
    value = {**STEP, "n": 10**9, "path": "遠隔 GPU", "kernel": "größe ∑"}
    (record,) = jsonl.parse(lines(value), "data.jsonl").records
    assert jsonl.to_object(record) == value


def test_null_is_read_as_what_is_not_stated() -> None:
    (record,) = jsonl.parse(lines({**STEP, "block": None, "phases": None}), "data.jsonl").records
    assert set(jsonl.to_object(record)) == set(STEP) - {"phases"}


def test_integral_floats_are_integers_as_in_json_schema() -> None:
    (record,) = jsonl.parse(lines({**STEP, "n": 1000.0}), "data.jsonl").records
    assert jsonl.to_object(record)["n"] == 1000


def test_a_cut_off_last_line_is_left_out_with_a_warning() -> None:
    read = jsonl.parse(lines(MACHINE, STEP) + lines(STEP)[:40], "data.jsonl")
    assert len(read.records) == 2
    assert read.warnings == [
        "data.jsonl:3: the last line is cut off (a killed run?); it was left out"
    ]


def test_a_last_line_without_line_end_counts_if_whole() -> None:
    read = jsonl.parse(lines(MACHINE, STEP).rstrip(b"\n"), "data.jsonl")
    assert (len(read.records), read.warnings) == (2, [])


NO_OBJECT = ":1: not a record: each line holds one JSON object"
WRONG: dict[str, tuple[bytes, str]] = {
    "a whole but wrong last line, even without line end": (
        lines(MACHINE, {**STEP, "n": 0}).rstrip(b"\n"), ":2: n: must be greater than 0, got 0"),
    "a broken line elsewhere": (
        lines(MACHINE) + b'{"schema":\n' + lines(STEP), ":2: not valid JSON"),
    **{f"an empty file of {text!r}": (text, ": is empty")
       for text in (b"", b"\n \r\n", b"\xef\xbb\xbf")},
    "a file of one cut off line": (b'{"schema":"gpu', ": holds no whole record"),
    **{f"no object but {text!r}": (text, NO_OBJECT)
       for text in (b"[1]\n", b"3\n", b"null\n", b'"x"\n')},
    "nan in free objects": (json.dumps({**NOTE, "about": {"x": float("nan")}}).encode() + b"\n",
                            ":1: about: cannot be written as JSON: "),
    "deep nesting": (b"[" * 100_000 + b"\n", ":1: not valid JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_an_error(content: bytes, message: str) -> None:
    assert error_of(content).startswith(f"data.jsonl{message}")


def test_byte_order_mark_and_crlf_are_tolerated() -> None:
    content = b"\xef\xbb\xbf" + lines(MACHINE, STEP).replace(b"\n", b"\r\n")
    assert len(jsonl.parse(content, "data.jsonl").records) == 2


@pytest.mark.parametrize("value", [float("nan"), "\ud800"], ids=["NaN", "half a surrogate pair"])
def test_what_no_file_can_hold_is_refused_in_memory(value: object) -> None:
    with pytest.raises(InputError, match="about: cannot be written as JSON"):
        jsonl.record({**NOTE, "about": {"x": value}})
    with pytest.raises(InputError):
        jsonl.record({**STEP, "kernel": value})


@relaxed
@given(records, st.data())
def test_any_mutation_of_a_line_is_read_or_named_by_its_line(
    value: dict[str, Any], data: st.DataObject
) -> None:
    line = bytearray(json.dumps(value, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(line) - 1))
        change = data.draw(st.sampled_from(["replace", "delete", "insert"]))
        if change == "replace":
            line[at] = data.draw(st.integers(0, 255))
        elif change == "insert":
            line.insert(at, data.draw(st.integers(0, 255)))
        elif len(line) > 1:
            del line[at]
    content = lines(MACHINE) + bytes(line) + b"\n"
    complaint = complaint_of(lambda: jsonl.parse(content, "data.jsonl"))
    assert complaint is None or (complaint.line or 0) >= 2


def test_errors_survive_a_process_boundary() -> None:
    import pickle

    error = InputError("wrong", file="f", line=3, field="n")
    assert str(pickle.loads(pickle.dumps(error))) == "f:3: n: wrong"
