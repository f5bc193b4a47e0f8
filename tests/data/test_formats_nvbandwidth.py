"""nvbandwidth's JSON becomes transfers; anything else becomes a note."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.formats import Imported, Options, nvbandwidth
from gpucast.data.records import Note, Transfer
from gpucast.errors import InputError
from gpucast.util.remarks import texts_of
from records_samples import complaint_of, relaxed


def test_case(name: str, matrix: list[list[str]], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "status": "Passed",
        "bandwidth_description": "memcpy bandwidth (GB/s)",
        "bandwidth_matrix": matrix,
        "sum": 1.0,
        **more,
    }


test_case.__test__ = False  # type: ignore[attr-defined]


def read(*tests: Any, size: int = 512 * 2**20, **top: Any) -> Imported:
    text = json.dumps({"nvbandwidth": {"testcases": list(tests), **top}})
    assert nvbandwidth.detect(text)
    return nvbandwidth.read(text, "nv.json", Options(machine="m", bytes=size))


def transfers(*tests: Any) -> list[Transfer]:
    return [entry for entry in read(*tests).entries if isinstance(entry, Transfer)]


def notes(*tests: Any) -> list[str]:
    return [entry.text for entry in read(*tests).entries if isinstance(entry, Note)]


def ends(copy: Transfer) -> tuple[str, str, list[tuple[str, str]]]:
    return copy.from_, copy.to, [(other.from_, other.to) for other in copy.concurrent]


def test_host_copies_have_a_time_for_the_stated_size() -> None:
    first, second = transfers(test_case("host_to_device_memcpy_ce", [["26.03", "25.94"]]))
    assert (first.route, first.engine, first.memory, first.valid) == ("h2d", "copy", "pinned", True)
    assert (ends(first), ends(second)) == (("host", "gpu0", []), ("host", "gpu1", []))
    assert first.seconds == [512 * 2**20 / 26.03e9]
    # Six digits are printed: 26.03 stands for 26.0300.
    assert first.uncertainty == pytest.approx(0.00005 / 26.03)


def test_kernel_copies_are_told_from_the_copy_engine() -> None:
    (copy,) = transfers(test_case("device_to_host_memcpy_sm", [["25.5"]]))
    assert (copy.engine, copy.route, ends(copy)) == ("kernel", "d2h", ("gpu0", "host", []))


def test_the_other_direction_is_concurrent_in_bidirectional_copies() -> None:
    (copy,) = transfers(test_case("device_to_host_bidirectional_memcpy_ce", [["18.5"]]))
    assert ends(copy) == ("gpu0", "host", [("host", "gpu0")])


def test_all_other_gpus_are_concurrent_in_all_to_host() -> None:
    first, _ = transfers(test_case("all_to_host_memcpy_ce", [["18.5", "18.6"]]))
    assert ends(first) == ("gpu0", "host", [("gpu1", "host")])
    first, _ = transfers(test_case("host_to_all_bidirectional_memcpy_ce", [["9.5", "9.6"]]))
    assert ends(first) == (
        "host",
        "gpu0",
        [("gpu0", "host"), ("host", "gpu1"), ("gpu1", "host")],
    )


def test_reads_go_from_column_to_row_and_writes_from_row_to_column() -> None:
    matrix = [["N/A", "276.07"], ["276.19", "N/A"]]
    first, second = transfers(test_case("device_to_device_memcpy_read_ce", matrix))
    assert (ends(first), ends(second)) == (("gpu1", "gpu0", []), ("gpu0", "gpu1", []))
    first, _ = transfers(test_case("device_to_device_memcpy_write_ce", matrix))
    assert (first.route, ends(first)) == ("peer", ("gpu0", "gpu1", []))


def test_three_matrices_of_a_bidirectional_test_are_taken_apart() -> None:
    one = [["N/A", "200"], ["201", "N/A"]]
    other = [["N/A", "210"], ["211", "N/A"]]
    total = [["N/A", "410"], ["412", "N/A"]]
    test = test_case("device_to_device_bidirectional_memcpy_read_ce", one + other + total)
    copies = transfers(test)
    assert [round(copy.bytes / copy.seconds[0] / 1e9) for copy in copies] == [200, 201, 210, 211]
    assert ends(copies[0]) == ("gpu1", "gpu0", [("gpu0", "gpu1")])
    assert ends(copies[2]) == ("gpu0", "gpu1", [("gpu1", "gpu0")])
    assert any("sums of both directions" in text for text in notes(test))


@pytest.mark.parametrize(
    "test",
    [
        test_case("host_to_device_bidirectional_memcpy_sm", [["10"]]),
        test_case("all_to_one_write_ce", [["10", "10"]]),
        test_case("multinode_device_to_device_memcpy_read_ce", [["N/A", "1"], ["1", "N/A"]]),
        test_case("something_new", [["10"]]),
        test_case("host_to_device_memcpy_ce", [["10"], ["11"]]),
        test_case("host_to_device_memcpy_ce", []),
        test_case("host_to_device_memcpy_ce", [["10"]], status="Waived"),
        test_case("host_device_latency_sm", [["700"]], bandwidth_description="latency (ns)"),
        {"name": "device_to_device_memcpy_read_ce", "status": "Waived"},
    ],
    ids=lambda test: test["name"],
)
def test_what_is_not_understood_becomes_a_note(test: dict[str, Any]) -> None:
    assert transfers(test) == []
    (text,) = notes(test)
    assert test["name"] in text


def test_pairs_without_access_become_notes() -> None:
    (text,) = notes(test_case("device_to_device_memcpy_read_ce", [["N/A", "N/A"], ["1", "N/A"]]))
    assert text == "test 'device_to_device_memcpy_read_ce': gpu1 to gpu0: N/A"


def test_the_machine_is_described() -> None:
    imported = read(
        test_case("host_to_device_memcpy_ce", [["10"]]),
        size=2**20,
        version="v0.8",
        **{
            "CUDA Runtime Version": 12070,
            "Driver Version": "565.02",
            "GPU Device list": ["0: NVIDIA H100 80GB HBM3 (00000000:1b:00): (node1)"],
        },
    )
    assert imported.machine["gpus"] == [{"name": "NVIDIA H100 80GB HBM3", "pci": "00000000:1b:00"}]
    assert imported.machine["host"] == "node1"
    assert imported.machine["runtime"] == "CUDA 12.7"
    assert imported.machine["tool"] == {"name": "nvbandwidth", "version": "v0.8"}
    assert "1048576 bytes" in imported.machine["caveats"][0]


def test_an_error_of_the_tool_is_kept_and_shown() -> None:
    imported = read(error="no devices")
    assert texts_of(imported.remarks) == ["nv.json: nvbandwidth's error: no devices"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nvbandwidth": 3}', "nv.json: nvbandwidth: missing"),
        ('{"nvbandwidth": {}}', "nv.json: holds no test cases"),
        ('{"nvbandwidth": {"testcases": 3}}', "nv.json: testcases: must be a list"),
        ('{"nvbandwidth": {"testcases": [3]}}', "nv.json: testcases[0]: must be an object"),
        ('{"nvbandwidth": {"testcases": [\n', "nv.json:2: not valid JSON"),
        ('{"nvbandwidth": NaN}', "nv.json: not valid JSON: NaN"),
    ],
)
def test_bad_files_are_errors(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        nvbandwidth.read(text, "nv.json", Options())
    assert str(caught.value).startswith(message)


@relaxed
@given(st.data())
def test_any_mutation_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    tests = [
        test_case("host_to_device_memcpy_ce", [["10", "11"]]),
        test_case("device_to_device_memcpy_read_ce", [["N/A", "1"], ["1", "N/A"]]),
    ]
    text = list(json.dumps({"nvbandwidth": {"testcases": tests, "CUDA Runtime Version": 12070}}))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] = data.draw(st.sampled_from([*'{}[]",:01-e\nnx ', ""]))
    complaint_of(lambda: nvbandwidth.read("".join(text), "nv.json", Options()))
