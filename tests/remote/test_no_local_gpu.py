"""Nothing computes on a GPU of this machine in a program that was given remote ones.

Small libraries act as CUDA's do that bring a runtime of their own, and as this machine's driver,
which writes down that it was asked to compute.
"""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from remote_servers import CLIENT, FAKE, PATIENCE, SERVER, servers
from waiting import next_line

pytestmark = pytest.mark.skipif(not (CLIENT / "libcuda.so.1").exists(), reason=f"no {CLIENT}")

DRIVER = """
#include <stdio.h>
#include <stdlib.h>
int cuInit(unsigned flags) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  return visible && !*visible ? 100 : 0;
}
int cuLaunchKernel(void) {
  FILE *computed = fopen(getenv("COMPUTED"), "a");
  fputs("here", computed);
  return fclose(computed);
}
"""

OWN_RUNTIME = """
#define _GNU_SOURCE
#include <dlfcn.h>
int compute(const char *driver) {
  void *opened = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  if (!opened) return 35;
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(opened, "cuInit");
  int (*launch)(void) = (int (*)(void))dlsym(opened, "cuLaunchKernel");
  int status = init(0);
  return status ? status : launch();
}
int gemm(void) { return compute("libcuda.so.1"); }
"""
"""What is within cuBLAS."""

LINKED_WITH_DRIVER = """
int cuInit(unsigned);
int cuLaunchKernel(void);
int gemm(void) { int status = cuInit(0); return status ? status : cuLaunchKernel(); }
"""

CALLS_IT = """
#include <stdio.h>
int gemm(void);
int main(void) { return printf("returned %d\\n", gemm()) < 0; }
"""

PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int cudaRuntimeGetVersion(int *);
int gemm(void);
int compute(const char *driver);
static int gemm_of(void *library) {
  if (!library) return puts(dlerror());
  return ((int (*)(void))dlsym(library, "gemm"))();
}
int main(int count, char **words) {
  const char *way = words[1], *what = words[2];
  int status = 0, version;
  if (!strcmp(way, "linked")) status = gemm();
  if (!strcmp(way, "after")) {
    cudaRuntimeGetVersion(&version);
    status = gemm_of(dlopen(what, RTLD_NOW | RTLD_LOCAL));
  }
  if (!strcmp(way, "before")) {
    status = gemm_of(dlopen(what, RTLD_NOW | RTLD_GLOBAL));
    cudaRuntimeGetVersion(&version);
  }
  if (!strcmp(way, "namespace")) status = gemm_of(dlmopen(LM_ID_NEWLM, what, RTLD_NOW));
  if (!strcmp(way, "driver")) status = compute(what);
  if (!strcmp(way, "visible")) {
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    status = compute(what);
  }
  if (!strcmp(way, "fork") || !strcmp(way, "exec")) {
    int child = fork();
    if (!child && !strcmp(way, "fork")) status = gemm();
    if (!child && what) setenv("LD_LIBRARY_PATH", what, 1);
    if (!child && !strcmp(way, "exec")) execl(words[0], words[0], "linked", NULL);
    if (child) {
      waitpid(child, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
  }
  printf("returned %d\\n", status);
  return 0;
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs and libraries; the driver in ``hidden`` is looked for in ``driver``."""
    folder = tmp_path_factory.mktemp("made")

    def compile_(name: str, source: str, *options: object) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        (folder / "source.c").write_text(source)
        subprocess.run(["cc", folder / "source.c", "-o", path, *map(str, options)], check=True)
        return path

    def library(name: str, source: str, *options: object) -> Path:
        soname = f"-Wl,-soname,{Path(name).name}"
        return compile_(name, source, "-shared", "-fPIC", "-Wl,-Bsymbolic", soname, *options)

    runtime = ("-Wl,--no-as-needed", CLIENT / "libcudart.so.13")
    rpath = f"-Wl,--disable-new-dtags,-rpath,{folder}/driver"
    driver = library("hidden/libcuda.so.1", DRIVER)
    driver.with_name("libcuda.so").symlink_to(driver.name)
    blas = library("libblas.so.13", OWN_RUNTIME)
    library("own/libcudart.so.13", OWN_RUNTIME)
    library("nvml/libnvidia-ml.so.1", OWN_RUNTIME)
    library("libdriven.so", LINKED_WITH_DRIVER, driver, rpath)
    compile_("program", PROGRAM, *runtime, blas, f"-Wl,-rpath,{folder}:{CLIENT}")
    compile_("driven", CALLS_IT + LINKED_WITH_DRIVER, *runtime, driver, rpath)
    compile_("static", CALLS_IT + OWN_RUNTIME)
    return folder


LOADS = "import ctypes, sys; print('returned', ctypes.CDLL(sys.argv[1]).gemm())"

WAYS: dict[str, tuple[str, ...]] = {
    "a library that the program is linked with": ("libblas.so.13", "{made}/program", "linked"),
    "one that it opens": ("libblas.so.13", "{made}/program", "after", "{made}/libblas.so.13"),
    "one that it opens first": ("libblas.so.13", "{made}/program", "before", "libblas.so.13"),
    "another CUDA runtime": (
        "own/libcudart.so.13", "{made}/program", "after", "{made}/own/libcudart.so.13",
    ),
    "a namespace of its own": (
        "libblas.so.13", "{made}/program", "namespace", "{made}/libblas.so.13",
    ),
    "the driver, linked": ("{made}/driven", "{made}/driven"),
    "the driver, linked by a library": (
        "libdriven.so", "{made}/program", "after", "{made}/libdriven.so",
    ),
    "the driver by its short name": ("libblas.so.13", "{made}/program", "driver", "libcuda.so"),
    "a child": ("libblas.so.13", "{made}/program", "fork"),
    "another program": ("libblas.so.13", "{made}/program", "exec"),
    "a script": ("{made}/static", "sh", "-c", "{made}/static || exit $?; echo went on"),
    "an interpreter": (
        "libblas.so.13", sys.executable, "-c", LOADS, "{made}/libblas.so.13",
    ),
}  # fmt: skip
"""What the line names, then the program."""

PAST_THE_LIBRARY_PATH: dict[str, tuple[str, ...]] = {
    "the driver by its path": (
        "libblas.so.13", "{made}/program", "driver", "{made}/driver/libcuda.so.1",
    ),
    "the driver, with its GPUs made visible": (
        "libblas.so.13", "{made}/program", "visible", "{made}/driver/libcuda.so.1",
    ),
    "another program that finds other libraries": (
        "libblas.so.13", "{made}/program", "exec", "{made}/driver",
    ),
}  # fmt: skip
"""Ways that only LD_PRELOAD closes."""


RUN = (sys.executable, "-m", "gpucast.cli", "remote", "run")
GPUS = ("--gpus", "127.0.0.1:1")


@dataclass
class Machine:
    """One with a driver, or without, on which a program is started."""

    made: Path
    has_driver: bool
    computed: Path

    def __post_init__(self) -> None:
        driver = self.made / "driver"
        driver.unlink(missing_ok=True)
        if self.has_driver:
            driver.symlink_to(self.made / "hidden")

    def start(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        folders = [variables.pop("LD_LIBRARY_PATH", ""), str(self.made / "driver")]
        return subprocess.run(
            [word.format(made=self.made) for word in words],
            env={
                **os.environ,
                "COMPUTED": str(self.computed),
                "GPUCAST_REMOTE_LIB": str(CLIENT),
                **variables,
                "LD_LIBRARY_PATH": os.pathsep.join(filter(None, folders)),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def run_remote(self, *words: str) -> subprocess.CompletedProcess[str]:
        gpus = () if words[0] == "--gpus" else GPUS
        return self.start(*RUN, *gpus, *words)


@pytest.fixture(params=[True, False], ids=["with a driver", "without one"])
def machine(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Machine:
    return Machine(made, request.param, tmp_path / "computed")


def assert_ended(machine: Machine, names: str, finished: subprocess.CompletedProcess[str]) -> None:
    assert not machine.computed.exists()
    assert finished.returncode == 2, finished
    assert finished.stdout == ""
    (line,) = finished.stderr.splitlines()
    assert names.format(made=machine.made) in line
    assert "runtime of its own" in line or "CUDA driver" in line


BY_ENVIRONMENT = {"LD_LIBRARY_PATH": str(CLIENT), "GPUCAST_REMOTE": "127.0.0.1:1"}
GUARDED = {**BY_ENVIRONMENT, "LD_PRELOAD": str(CLIENT / "libcuda.so.1")}


@pytest.mark.parametrize("way", [*WAYS, *PAST_THE_LIBRARY_PATH])
def test_a_run_over_remote_gpus_ends_where_others_would_compute(way: str, machine: Machine) -> None:
    names, *words = (WAYS | PAST_THE_LIBRARY_PATH)[way]
    assert_ended(machine, names, machine.run_remote("--", *words))


@pytest.mark.parametrize("way", [*WAYS, *PAST_THE_LIBRARY_PATH])
def test_so_does_a_program_that_is_started_by_the_environment(way: str, machine: Machine) -> None:
    names, *words = (WAYS | PAST_THE_LIBRARY_PATH)[way]
    assert_ended(machine, names, machine.start(*words, **GUARDED))


@pytest.mark.parametrize("way", WAYS)
def test_the_library_path_alone_is_enough_for_most(way: str, machine: Machine) -> None:
    names, *words = WAYS[way]
    assert_ended(machine, names, machine.start(*words, **BY_ENVIRONMENT))


def test_the_client_hides_gpus_from_a_driver_that_is_opened_by_its_path(machine: Machine) -> None:
    _, *words = PAST_THE_LIBRARY_PATH["the driver by its path"]
    finished = machine.start(*words, **BY_ENVIRONMENT)
    assert finished.stdout == f"returned {100 if machine.has_driver else 35}\n"
    assert not machine.computed.exists()


def test_a_static_program_is_not_started(machine: Machine) -> None:
    finished = machine.run_remote("--", "{made}/static")
    assert_ended(machine, "{made}/static: brings a CUDA runtime of its own", finished)


def test_both_may_be_used_if_the_user_says_so(made: Path, tmp_path: Path) -> None:
    here = Machine(made, True, tmp_path / "computed")
    words = ("{made}/program", "linked")
    here.run_remote("--allow-local-cuda", "--", *words)
    assert here.computed.read_text() == "here"
    client = str(CLIENT / "libcudart.so.13")
    here.start(
        *words, GPUCAST_REMOTE="127.0.0.1:1", GPUCAST_REMOTE_MIXED="allow", LD_PRELOAD=client
    )
    assert here.computed.read_text() == "herehere"


def test_an_opened_driver_that_nobody_calls_harms_nobody(machine: Machine) -> None:
    opens = "import ctypes; ctypes.CDLL('libcuda.so.1'); print('went on')"
    finished = machine.start(sys.executable, "-c", opens, **GUARDED)
    assert (finished.returncode, finished.stdout) == (0, "went on\n")


def test_nvml_is_told_that_there_is_no_gpu(machine: Machine) -> None:
    """It asks the driver for its version: machine records take the GPUs' links from it."""
    words = (sys.executable, "-c", LOADS, "{made}/nvml/libnvidia-ml.so.1")
    for finished in (machine.start(*words, **GUARDED), machine.start(*words, **BY_ENVIRONMENT)):
        assert (finished.returncode, finished.stdout) == (0, "returned 100\n"), finished
    assert not machine.computed.exists()


def test_doctor_says_that_the_driver_is_hidden(machine: Machine) -> None:
    finished = machine.start(sys.executable, "-m", "gpucast.cli", "doctor", **GUARDED)
    assert "hidden by the client of remote GPUs" in finished.stdout


# ---- how a run ends ----


needs_server = pytest.mark.skipif(
    not SERVER.exists() or not FAKE.exists(), reason=f"no {SERVER} or no {FAKE}"
)
COUNTS = """
import ctypes
print(ctypes.CDLL("libcudart.so.13").cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))
"""


def test_a_run_that_reaches_no_server_says_so_at_its_end(machine: Machine) -> None:
    finished = machine.run_remote("--", "sh", "-c", "echo done")
    assert (finished.returncode, finished.stdout) == (2, "done\n")
    (line,) = finished.stderr.splitlines()
    assert line.startswith("gpucast: error: sh: it has ended without reaching a server: ")


@needs_server
def test_a_run_that_reaches_one_ends_as_its_program_does(machine: Machine) -> None:
    with servers(GPUCAST_FAKE_ANY_KERNEL="1", GPUCAST_FAKE_KERNELS="") as (server,):
        words = ("sh", "-c", '"$0" -c "$1"; "$0" -c "print(2)"', sys.executable, COUNTS)
        finished = machine.run_remote("--gpus", server.address, "--", *words)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "0\n2\n", "")


@pytest.mark.parametrize(("words", "status"), [("exit 7", 7), ("kill -9 $$", 128 + 9)])
def test_a_program_that_fails_has_said_why(machine: Machine, words: str, status: int) -> None:
    finished = machine.run_remote("--", "sh", "-c", words)
    assert (finished.returncode, finished.stderr) == (status, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_reaches_the_program(number: signal.Signals, made: Path) -> None:
    waits = f"trap 'echo told; exit 7' {number.value}; echo ready; read line"
    running = subprocess.Popen(
        [*RUN, *GPUS, "--", "sh", "-c", waits],
        env={**os.environ, "GPUCAST_REMOTE_LIB": str(CLIENT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert next_line(running) == "ready\n"
    running.send_signal(number)
    # Its input stays open till then: without it the program ends by itself.
    assert next_line(running) == "told\n"
    out, errors = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, errors) == (7, "", "")


def test_the_program_ends_with_the_run(made: Path) -> None:
    running = subprocess.Popen(
        [*RUN, *GPUS, "--", "sh", "-c", "echo ready; read line; echo went on"],
        env={**os.environ, "GPUCAST_REMOTE_LIB": str(CLIENT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert next_line(running) == "ready\n"
    running.kill()
    assert running.stdout.read() == ""  # which the program held open
    running.communicate(timeout=PATIENCE)
