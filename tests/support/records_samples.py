"""Records to test with: one valid example of each kind, and hypothesis strategies."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import made_data
from gpucast.errors import InputError

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For machines that are slow or busy."""

SCHEMA = "gpucast.record/1"


def complaint_of(read: Callable[[], object]) -> InputError | None:
    """What a reader refuses its input with, in one line; None where it is read."""
    complaint = None
    try:
        read()
    except InputError as error:
        complaint = error
    assert "\n" not in str(complaint)
    return complaint


MACHINE: dict[str, Any] = {
    "schema": SCHEMA,
    "kind": "machine",
    "id": "m",
    "gpus": [{"name": "GPU", "sms": 12, "cores": 2304}],
    "started": "2025-01-31T12:00:00Z",
    "topology": {"links": [1, None, "x"]},
    "tool": {"name": "t", "version": "1"},
}
TRANSFER = {"schema": SCHEMA} | made_data.transfer(
    "h2d", 1024, [1e-5, 1.25e-5], concurrent=[{"from": "gpu1", "to": "host"}]
)
LAUNCH = {"schema": SCHEMA} | made_data.launch(100, [3e-4])
PHASES = {"h2d": [0.001, 0.0], "kernel": [0.008, 0.009]}
STEP = {"schema": SCHEMA} | made_data.step(1000, 4, [0.01, 0.011], phases=PHASES)
OVERLAP: dict[str, Any] = {
    "schema": SCHEMA,
    "kind": "overlap",
    "machine": "m",
    "path": "native",
    "memory": "pinned",
    "device": "gpu0",
    "bytes": 1 << 20,
    "parts": ["h2d", "kernel"],
    "seconds": [1e-4],
}
SKELETON = {"schema": SCHEMA} | made_data.skeleton(
    "star-serial", 1000, 2, 2e-5, [1e-4], memory="pageable", kernel_seconds=2.3e-5
)
HOST_MEMORY: dict[str, Any] = {
    "schema": SCHEMA,
    "kind": "host_memory",
    "machine": "m",
    "memory": "mapped",
    "pattern": "simple",
    "runner": "cpu",
    "phase": "loop",
    "seconds": [0.1],
}
NOTE: dict[str, Any] = {"schema": SCHEMA, "kind": "note", "text": "skipped", "about": {"n": None}}
EXAMPLES = [MACHINE, TRANSFER, LAUNCH, STEP, OVERLAP, SKELETON, HOST_MEMORY, NOTE]

# A small alphabet of everything that some format treats specially; the full one is slow to draw.
labels = st.text("aZ0 -_./|%>,;#'\"\\=()ßΩ日🚀\u2028\u0301\u00a0", min_size=1, max_size=12)
positive = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)
counts = st.integers(1, 2**40)
sizes = st.integers(1, 10**9) | st.floats(1e-3, 1e18)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


_extras = _optional(
    uncertainty=st.floats(0, 1), cold=st.booleans(), caveat=st.text("abc\n", min_size=1)
)


_moved = st.integers(0, 2**40)
_kinds = _optional(
    block=counts,
    memory=st.sampled_from(["pageable", "pinned", "write-combined", "mapped", "unknown"]),
    graph=st.booleans(),
    boundary=labels,
    program=labels,
    case=labels,
    unit=labels,
    timestep=st.floats(1e-18, 1.0),
    nodes=counts,
    ranks=counts,
    bytes=st.fixed_dictionaries({"h2d": _moved, "d2h": _moved}, optional={"exchange": _moved}),
)


_ours = _optional(
    kernel=labels,
    schedule=st.sampled_from(["star-serial", "star-async", "allgather", "mpi"]),
)


@st.composite
def steps(draw: st.DrawFn) -> dict[str, Any]:
    """Valid step records of machine m."""
    bare = {key: value for key, value in STEP.items() if key not in ("schedule", "kernel")}
    return {
        **bare,
        "path": draw(labels),
        **draw(_ours),
        "n": draw(sizes),
        "gpus": draw(st.integers(1, 10**6)),
        "seconds": draw(st.lists(positive, min_size=1, max_size=5)),
        **draw(_extras),
        **draw(_kinds),
    }


@st.composite
def transfers(draw: st.DrawFn) -> dict[str, Any]:
    """Valid transfer records of machine m."""
    return {
        **TRANSFER,
        "path": draw(labels),
        "bytes": draw(counts),
        "seconds": draw(st.lists(positive, min_size=1, max_size=5)),
        "concurrent": draw(
            st.lists(st.fixed_dictionaries({"from": labels, "to": labels}), max_size=2)
        ),
        **draw(_extras),
    }


records = st.one_of(st.sampled_from(EXAMPLES), steps(), transfers())
"""Valid records of any kind, as JSON objects."""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("a1\n\x7fß日\u2028", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Records with one field replaced, dropped or added; most are no longer valid."""
    value = dict(draw(records))
    field = draw(st.sampled_from(sorted(value)) | st.text("abc", min_size=1, max_size=3))
    if draw(st.booleans()) and field in value:
        del value[field]
    else:
        value[field] = draw(json_values)
    return value
