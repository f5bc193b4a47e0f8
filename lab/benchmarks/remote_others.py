"""What becomes, over remote GPUs, of programs that bring a CUDA runtime of their own.

Run by ``lab/gpu.sh others`` on a machine with a GPU, with GPUCAST_REMOTE naming a server: real
programs of cuBLAS, cuFFT, PyTorch, CuPy and the static runtime are started natively, where they
compute, and twice over remote GPUs, where each has to end with status 2 and a line that names who
called the driver. One of the shared runtime computes either way. Exit status 1 where one does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

COMPUTED = "computed"

SHARED = """
#include <cuda_runtime.h>
__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }
int main() {
  float host[4] = {1, 2, 3, 4}, *device;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyDefault);
  square<<<1, 4>>>(device);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDefault);
  if (cudaGetLastError() == cudaSuccess && host[3] == 16) puts("computed");
}
"""

CUBLAS = """
#include <cublas_v2.h>
#include <cuda_runtime.h>
int main() {
  float one = 1, zero = 0, host[4] = {1, 2, 3, 4}, *device;
  cudaMalloc(&device, 3 * sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyDefault);
  cublasHandle_t handle;
  int status = cublasCreate(&handle);
  if (!status) status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device, 2,
                                    device, 2, &zero, device + 4, 2);
  cudaMemcpy(host, device + 4, sizeof host, cudaMemcpyDefault);
  printf("computed %d: %g\\n", status, host[0]);
}
"""

CUFFT = """
#include <cuda_runtime.h>
#include <cufft.h>
int main() {
  cufftComplex* device;
  cudaMalloc(&device, 64 * sizeof *device);
  cufftHandle plan;
  int status = cufftPlan1d(&plan, 64, CUFFT_C2C, 1);
  if (!status) status = cufftExecC2C(plan, device, device, CUFFT_FORWARD);
  printf("computed %d\\n", status);
}
"""

MANAGED = """
#include <cuda_runtime.h>
__managed__ int total = 5;
int main() { printf("computed %d\\n", total); }
"""

PINNED = """
#include <cuda_runtime.h>
__global__ void set(int* x) { *x = 7; }
int main() {
  int *pinned, *device, host = 0;
  cudaMallocHost(&pinned, 4);
  cudaMalloc(&device, 4);
  set<<<1, 1>>>(pinned);
  int refused = cudaGetLastError();
  set<<<1, 1>>>(device);
  int after = cudaMemcpy(&host, device, 4, cudaMemcpyDefault);
  printf("computed %d %d %d\\n", refused, after, host);
}
"""

TORCH = "import torch; a = torch.ones(64, 64).cuda(); print('computed', float((a @ a)[0, 0]))"
TORCH_OR_CPU = (
    "import torch; d = 'cuda' if torch.cuda.is_available() else 'cpu'; "
    "print('computed on', d, float(torch.ones(9, device=d).sum()))"
)
CUPY = "import cupy; print('computed', float(cupy.ones(64).sum()))"
NUMBA = (
    "from numba import cuda; import numpy; "
    "print('computed', cuda.to_device(numpy.ones(4)).copy_to_host().sum())"
)


def main() -> int:
    """Start each program each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", type=Path, required=True, help="folder of the client")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--microbench", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for programs")
    given = parser.parse_args()
    servers = os.environ.pop("GPUCAST_REMOTE")
    native = dict(os.environ)
    client = str(given.client.absolute())
    remote = {
        **native,
        "GPUCAST_REMOTE": servers,
        "LD_LIBRARY_PATH": os.pathsep.join([client, native.get("LD_LIBRARY_PATH", "")]),
        "LD_PRELOAD": f"{client}/libcuda.so.1",
    }
    gpucast = [sys.executable, "-m", "gpucast.cli", "remote", "run", "--gpus", servers, "--"]
    by_run = {**native, "GPUCAST_REMOTE_LIB": client}

    def made(name: str, source: str, *options: str) -> list[str]:
        code = given.output / f"{name}.cu"
        code.write_text(f"#include <cstdio>\n{source}")
        words = [given.nvcc, "-arch=native", "-o", given.output / name, code, *options]
        subprocess.run(words, check=True)
        return [str((given.output / name).absolute())]

    shared = ("-cudart", "shared")
    ends = {
        "cuBLAS": made("cublas", CUBLAS, *shared, "-lcublas"),
        "cuFFT": made("cufft", CUFFT, *shared, "-lcufft"),
        "static runtime": made("static", SHARED),
        "PyTorch": [sys.executable, "-c", TORCH],
        "PyTorch, where CPUs would do": [sys.executable, "-c", TORCH_OR_CPU],
        "CuPy": [sys.executable, "-c", CUPY],
        "Numba": [sys.executable, "-c", NUMBA],
        "managed variable": made("managed", MANAGED, *shared),
    }
    computes = {
        "shared runtime": (made("shared", SHARED, *shared), COMPUTED),
        "pinned argument": (made("pinned", PINNED, *shared), f"{COMPUTED} 801 0 7"),
        "microbench check": ([str(given.microbench), "check", "--engine", "cuda"], " 0 failed"),
    }
    wrong = 0

    def tried(name: str, way: str, words: list[str], variables: dict[str, str]) -> tuple[int, str]:
        finished = subprocess.run(
            words, env=variables, capture_output=True, text=True, check=False, timeout=120
        )
        last = finished.stdout.strip().splitlines()[-1:] or ["-"]
        said = " | ".join(finished.stderr.strip().splitlines()[-2:])
        print(f"{name}, {way}: status {finished.returncode}, {last[0]}\n    {said}", flush=True)
        return finished.returncode, finished.stdout + finished.stderr

    for name, words in ends.items():
        status, text = tried(name, "natively", words, native)
        if status != 0 or COMPUTED not in text:
            print(f"    {name} does not run natively here: left out", flush=True)
            continue
        ways = {"gpucast remote run": ([*gpucast, *words], by_run), "environment": (words, remote)}
        for way, (command, variables) in ways.items():
            status, text = tried(name, way, command, variables)
            if status != 2 or COMPUTED in text:
                wrong += 1
                print("    WRONG", flush=True)
    for name, (words, expected) in computes.items():
        status, text = tried(name, "gpucast remote run", [*gpucast, *words], by_run)
        if status != 0 or expected not in text:
            wrong += 1
            print("    WRONG", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
