"""Memory pools and host functions over the client, as a GPU's own driver does them.

Run by ``lab/gpu.sh graphs`` with GPUCAST_REMOTE set; exit status 1 where something is wrong.
"""

from __future__ import annotations

import ctypes
import sys

BYTES = 1 << 20
STEPS = 100
DEFAULT = 4  # cudaMemcpyDefault


def main() -> int:
    """Copies memory of a pool down, and has a function add up what arrived, step by step."""
    cuda = ctypes.CDLL("libcudart.so.13")

    def call(name: str, *arguments: object) -> None:
        status = getattr(cuda, name)(*arguments)
        if status != 0:
            sys.exit(f"{name}: error {status}")

    stream, pinned = ctypes.c_void_p(), ctypes.c_void_p()
    size = ctypes.c_size_t(BYTES)
    call("cudaStreamCreateWithFlags", ctypes.byref(stream), 1)
    call("cudaMallocHost", ctypes.byref(pinned), size)
    seen: list[int] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def look(_: int | None) -> None:
        seen.append(ctypes.string_at(pinned.value or 0, BYTES).count(len(seen) + 1))

    for step in range(1, STEPS + 1):
        memory = ctypes.c_void_p()
        call("cudaMallocAsync", ctypes.byref(memory), size, stream)
        call("cudaMemsetAsync", memory, step, size, stream)
        call("cudaMemcpyAsync", pinned, memory, size, DEFAULT, stream)
        call("cudaFreeAsync", memory, stream)
        call("cudaLaunchHostFunc", stream, look, None)
    call("cudaStreamSynchronize", stream)
    right = seen == [BYTES] * STEPS
    print(f"pools and host functions: {len(seen)} of {STEPS} ran,", "right" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
