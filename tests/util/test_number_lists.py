"""Lists and ranges of numbers, as all commands take them."""

import pytest

from gpucast.errors import InputError
from gpucast.util.number_lists import counts, size, sizes


def test_both_kinds_of_range_are_read_of_sizes_and_of_counts() -> None:
    """The C++ programs read the same: support/tests/number_list_test.cpp has these values."""
    assert sizes("216..1000:3") == counts("216..1000:3") == [216, 465, 1000]
    assert sizes("1-8:2") == counts("1-8:2") == [1, 3, 5, 7]
    assert sizes("1e3-3e3:1e3") == [1000, 2000, 3000]
    assert counts("1..64:7,3") == [1, 2, 4, 8, 16, 32, 64, 3]
    assert counts("1-4,8") == [1, 2, 3, 4, 8]
    assert counts("2-3,1-2") == [2, 3, 1]
    assert sizes(" 7 , 7,7") == sizes("7..7:3") == [7]
    assert sizes("512..1e6") == [
        512, 963, 1810, 3404, 6400, 12034, 22627, 42546, 80000, 150424, 282843, 531830, 1000000,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("5M", [5e6]),
        ("2.3M,64k", [2300000, 64000]),
        ("1k..1M:4", [1000, 10000, 100000, 1000000]),
        ("5,000,000", [5e6]),
        ("24,576,000", [24576000]),
        ("1,024,512", [1024512]),
        # Each of these may be a size.
        ("1,250,500", [1, 250, 500]),
        ("1000,100000", [1000, 100000]),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, values: list[float]) -> None:
    assert sizes(text) == values


def test_one_size_is_no_list() -> None:
    assert size("5,000,000") == 5e6
    with pytest.raises(InputError, match=r"n: '1,2' are several sizes"):
        size("1,2")


def test_an_exponents_sign_is_no_range() -> None:
    assert sizes("1e-3,2e-3-4e-3:1e-3") == pytest.approx([1e-3, 2e-3, 3e-3, 4e-3])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("4-1", "'4-1' is no range FIRST-LAST:STEP"),
        ("1-1e15", "'1-1e15' is no range FIRST-LAST:STEP of up to 100000 values"),
        ("9..1:3", "'9..1:3' is no range FIRST..LAST:COUNT"),
        ("1..9:1e9", "'1..9:1e9' is no range FIRST..LAST:COUNT of up to 100000 values"),
        ("1-", "'' is no "),
        ("1-8:x", "'x' is no "),
        ("-4", "'-4' is no "),
        *((text, "is no ") for text in ("", ",", "1,", "x", "1:2", "1..", "..", "1..2..3")),
        *((text, "'") for text in ("0", "-5", "nan", "inf", "1e400", "0..10", "1..10:0", "a-b")),
    ],
)
def test_what_is_no_range_is_named(text: str, why: str) -> None:
    for read in sizes, counts:
        with pytest.raises(InputError, match=r"^(n|gpus): ") as error:
            read(text)
        assert why in str(error.value)
