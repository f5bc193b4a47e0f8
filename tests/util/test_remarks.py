"""What a remark says has no say in how it ranks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpucast.util.remarks import Kind, Remark, Severity, in_order, remark

TEXTS = st.text() | st.sampled_from(
    ["the fit did not converge", "not tried: a term", "lack of fit, p < 1e-16", "far beyond data"]
)
REMARKS = st.lists(
    st.builds(remark, st.sampled_from(Kind), TEXTS, severity=st.sampled_from(Severity) | st.none())
)


def places(found: Remark) -> tuple[int, int]:
    """Where severity and kind stand in the lists of their class."""
    return list(Severity).index(Severity(found.severity)), list(Kind).index(Kind(found.kind))


@given(REMARKS)
def test_the_worst_come_first_and_each_once(known: list[Remark]) -> None:
    ordered = in_order(known)
    assert set(ordered) == set(known)
    assert len(ordered) == len(set(ordered))
    for before, after in pairwise(ordered):
        assert places(before) <= places(after)
        if places(before) == places(after):
            assert known.index(before) < known.index(after)


@given(st.lists(st.sampled_from(Kind), unique=True), st.data())
def test_other_words_change_no_order(kinds: list[Kind], data: st.DataObject) -> None:
    worded = [remark(kind, data.draw(TEXTS)) for kind in kinds]
    plain = [remark(kind, kind.value) for kind in kinds]
    assert [one.kind for one in in_order(worded)] == [one.kind for one in in_order(plain)]


def test_what_another_version_says_is_not_taken_for_harmless() -> None:
    unknown = Remark(kind="not-yet-thought-of", severity="dire", text="a remark")
    assert in_order([remark(Kind.ASSUMED, "a guess"), unknown])[0] == unknown
