"""What a call of CUDA's runtime or driver asks for, by its name.

Only for calls that no table of a trace says more about: works, waits and events tell themselves.
"""

from __future__ import annotations

from typing import Final

from gpucast.replay.program import Operation

_PREFIXES: Final = (
    # What stays on the host, or is known there: remote/src/client answers it without asking.
    ("HostAlloc", Operation.other),
    ("MallocHost", Operation.other),
    ("FreeHost", Operation.other),
    ("MemAllocHost", Operation.other),
    ("MemHost", Operation.other),
    ("MemGetInfo", Operation.query),
    ("MemGetAddressRange", Operation.other),
    ("MemPool", Operation.other),
    # Memory of the device.
    ("Malloc", Operation.alloc),
    ("MemAlloc", Operation.alloc),
    ("MemCreate", Operation.alloc),
    ("Free", Operation.free),
    ("MemFree", Operation.free),
    ("Memset", Operation.set),
    # Asked of the device.
    ("FuncGetAttributes", Operation.query),
    ("Occupancy", Operation.query),
    ("ModuleLoad", Operation.query),
    ("ModuleGet", Operation.query),
    ("LibraryLoad", Operation.query),
    ("LibraryGet", Operation.query),
    ("GetSymbol", Operation.query),
    ("StreamQuery", Operation.query),
    ("EventQuery", Operation.query),
    # Waits, where the recorder told none.
    ("StreamSynchronize", Operation.sync_stream),
    ("EventSynchronize", Operation.sync_event),
    ("DeviceSynchronize", Operation.sync_device),
    ("ThreadSynchronize", Operation.sync_device),
    ("CtxSynchronize", Operation.sync_device),
    ("GraphLaunch", Operation.graph_launch),
    # Told without an answer: a message that gives the GPU nothing to do.
    ("StreamCreate", Operation.set),
    ("StreamDestroy", Operation.set),
    ("EventCreate", Operation.set),
    ("EventDestroy", Operation.set),
    ("EventRecord", Operation.record),
    ("StreamWaitEvent", Operation.wait_stream_event),
    ("LaunchKernel", Operation.launch),
    ("LaunchCooperative", Operation.launch),
)


def operation_of(name: str) -> Operation:
    """``cudaMalloc``: alloc; ``other`` for what only the host knows of, and what is not known."""
    bare = name.removeprefix("cuda").removeprefix("cu")
    return next((each for start, each in _PREFIXES if bare.startswith(start)), Operation.other)
