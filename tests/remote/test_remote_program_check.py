"""What a program brings of CUDA is found out before it starts, so that it computes nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpucast.errors import InputError
from gpucast.remote import elf
from gpucast.remote.program import require_remote, why_not

CALLS = "int cudaMalloc(void **, unsigned long);\nint main(void) { return cudaMalloc(0, 4); }\n"
NONE = "int main(void) { return 0; }\n"
GPU_CODE = '__attribute__((section(".nv_fatbin"), used)) static const char code[] = "code";\n'
OPENS_DRIVER = 'const char *driver(void) { return "libcuda.so.1"; }\n'


class Build:
    """Small programs and libraries, as a linker makes them of CUDA's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = folder / "client" / "libcudart.so.13"
        self.other = folder / "other" / "libcudart.so.13"
        for library in (self.client, self.other):
            self.library(library, "int cudaMalloc(void **a, unsigned long b) { return 0; }\n")

    def library(self, path: Path, source: str, *options: object) -> Path:
        path.parent.mkdir(exist_ok=True)
        return self._compile(path, source, "-shared", "-fPIC", f"-Wl,-soname,{path.name}", *options)

    def program(self, source: str, *options: object) -> Path:
        return self._compile(self.folder / "program", source, *options)

    def _compile(self, path: Path, source: str, *options: object) -> Path:
        code = self.folder / "source.c"
        code.write_text(source)
        subprocess.run(["cc", code, "-o", path, *map(str, options)], check=True)
        return path

    def refused(self, program: Path) -> str | None:
        return why_not(str(program), self.variables(), self.client)

    def variables(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": str(self.client.parent)}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def test_a_program_of_the_shared_runtime_may_start(build: Build) -> None:
    program = build.program(GPU_CODE + CALLS, build.other)
    assert elf.read(program).needed[0].endswith("libcudart.so.13")
    assert elf.read(program).has_gpu_code
    assert build.refused(program) is None


def test_a_program_with_a_runtime_of_its_own_is_refused(build: Build) -> None:
    program = build.program(GPU_CODE + OPENS_DRIVER + NONE)
    problem = build.refused(program)
    assert problem.startswith(
        "brings a CUDA runtime of its own (linked statically), or calls the driver; link"
    )
    with pytest.raises(InputError, match="nvcc -cudart shared") as told:
        require_remote(str(program), build.variables(), build.client)
    assert told.value.exit_status == 2


def test_a_program_without_a_loader_is_refused_only_if_it_uses_gpus(build: Build) -> None:
    assert build.refused(build.program(NONE, "-static")) is None
    problem = build.refused(build.program(OPENS_DRIVER + NONE, "-static"))
    assert problem.startswith("is linked statically")


def test_a_program_of_another_version_is_refused(build: Build) -> None:
    old = build.library(
        build.folder / "libcudart.so.11.0",
        "int cudaMalloc(void **a, unsigned long b) { return 0; }\n",
    )
    problem = build.refused(build.program(CALLS, old, f"-Wl,-rpath,{build.folder}"))
    assert problem.startswith("was linked with the runtime of CUDA 11.0")


def test_a_program_of_cuda_12_may_start_where_its_client_is_found(build: Build) -> None:
    source = "int cudaMalloc(void **a, unsigned long b) { return 0; }\n"
    real = build.library(build.folder / "real" / "libcudart.so.12", source)
    program = build.program(CALLS, f"-L{real.parent}", "-l:libcudart.so.12")
    build.library(build.client.with_name("libcudart.so.12"), source)
    assert build.refused(program) is None
    other = build.program(CALLS, f"-L{real.parent}", "-l:libcudart.so.12",
                          f"-Wl,-rpath,{real.parent}", "-Wl,--disable-new-dtags")  # fmt: skip
    problem = build.refused(other)
    assert problem is not None
    assert f"puts {real} before the client" in problem


def test_a_program_that_finds_another_runtime_first_is_refused(build: Build) -> None:
    folder = build.other.parent
    name = (f"-L{folder}", "-l:libcudart.so.13", f"-Wl,-rpath,{folder}")
    before = build.program(CALLS, *name, "-Wl,--disable-new-dtags")
    problem = build.refused(before)
    assert problem.startswith(f"its RPATH {folder} puts {build.other} before the client")
    assert build.refused(build.program(CALLS, *name, "-Wl,--enable-new-dtags")) is None


def test_a_program_that_needs_a_library_with_a_runtime_of_its_own_is_refused(build: Build) -> None:
    folder = build.folder
    other = build.library(folder / "libother.so", OPENS_DRIVER)  # looks for a driver, and no more
    options = ("-Wl,--no-as-needed", other, build.other, f"-Wl,-rpath,{folder}")
    assert build.refused(build.program(CALLS, *options)) is None
    nccl = build.library(folder / "libnccl.so.2", GPU_CODE + OPENS_DRIVER + "int nccl(void);\n")
    problem = build.refused(build.program(CALLS, *options, nccl))
    assert problem.startswith("needs libnccl.so.2, which brings a CUDA runtime of its own; ")


@pytest.mark.parametrize("program", ["/bin/sh", sys.executable, "no-such-program", "/etc/passwd"])
def test_of_others_nothing_is_said(build: Build, program: str) -> None:
    assert why_not(program, build.variables(), build.client) is None


@pytest.mark.parametrize("length", [0, 5, 63, 64, 100, 1000, 5000])
def test_a_file_that_ends_early_is_no_program(build: Build, length: int) -> None:
    whole = build.program(CALLS, build.other).read_bytes()
    cut = build.folder / "cut"
    cut.write_bytes(whole[:length])
    with pytest.raises(elf.NoElfError):
        elf.read(cut)
    assert build.refused(cut) is None
