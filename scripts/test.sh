#!/usr/bin/env bash
# The checks, in three parts; each stops at the first that fails. At the end: what ran, what was
# skipped, and why.
#
#   scripts/test.sh quick        what a newcomer runs (`make test`)
#   scripts/test.sh quick rest   everything (`make test-all`)
#   scripts/test.sh lint         what runs no test (`make lint`)
#
# What `quick` leaves out is what takes long: every check is in one of the two. Nothing is left out
# because it passed before; only `lint` keeps in mind which sources clang-tidy has passed as they are.

source "$(dirname "$0")/common.sh"
use_project_tools

readonly results=build/results
rm -rf "$results"
mkdir -p "$results" "$logs"

# step HEADING COMMAND...
step() {
  local heading=$1 begin=$SECONDS outcome=passed
  shift
  say "== $heading"
  "$@" || outcome=FAILED
  printf '%s\t%s\t%s\n' "$((SECONDS - begin))" "$outcome" "$heading" >>"$results/steps.tsv"
  [[ "$outcome" == passed ]] || fail "failed: $heading"
}

# skip HEADING WHY
skip() {
  say "== $1: skipped, $2"
  printf '%s\t%s\n' "$1" "$2" >>"$results/skipped.tsv"
}

# configure PRESET [OPTION...]
configure() {
  quietly "configure-$1.log" cmake --preset "$@" || {
    cat "$logs/configure-$1.log"
    return 1
  }
}

# compile FOLDER [TARGET...]: everything, or these, of what is configured in build/FOLDER.
compile() {
  quietly "build-$1.log" cmake --build "build/$1" ${2:+--target "${@:2}"} || {
    grep -E 'error|FAILED' "$logs/build-$1.log" | head -n 40
    return 1
  }
}

# cpp_tests PRESET: all parts.
cpp_tests() {
  configure "$1" && compile "$1" &&
    ctest --preset "$1" --parallel "$(nproc)" --output-junit "$PWD/$results/ctest-$1.xml"
}

# Those of the build that was installed, whose parts are not compiled again.
tests_of_package() {
  compile wheel cpp_tests &&
    ctest --test-dir build/wheel --output-on-failure --timeout 1200 --parallel "$(nproc)" \
      --output-junit "$PWD/$results/ctest-wheel.xml"
}

# tidy [--keep-passed]
tidy() {
  configure test && python scripts/tidy.py "$@" build/test build/wheel
}

# The smallest CUDA program, and what the programs that were installed are linked with. Their CUDA
# code was compiled with warnings as errors when they were built.
cuda() {
  scripts/nvcc.sh >/dev/null || {
    skip "CUDA" "no CUDA compiler"
    return
  }
  configure test && compile test cuda_toolchain && imports_shared_runtime gpucast-mdapp &&
    imports_shared_runtime gpucast-microbench &&
    ctest --preset test -R cuda --output-junit "$PWD/$results/ctest-cuda.xml"
}

# The same program can then run over a runtime that takes its place.
imports_shared_runtime() {
  readelf -d "$venv/bin/$1" | grep -q 'NEEDED.*libcudart[.]so' || {
    say "$1: does not import libcudart.so"
    return 1
  }
}

# A fake CUDA driver, kernels for it and a CUDA program: tests of remote GPUs run them with the
# server, the client and the programs of the same build, those that were installed.
fake_driver() {
  [[ -x "$venv/bin/gpucast-gpu-server" ]] && scripts/nvcc.sh >/dev/null || {
    skip "remote GPUs over a fake driver" "no Asio or no CUDA compiler"
    return
  }
  compile wheel fake_cuda probe_kernels microbench_kernels mdapp_kernels gpucast-remote-probe \
    gpucast-slow-network trace_programs trace_programs_kernels
}

# Stand-ins for CUPTI and for a CUDA program, which tests of the recorder run it with.
fake_cupti() {
  [[ -d build/wheel/trace/fake ]] || {
    skip "gpucast trace over a fake CUPTI" "no headers of CUPTI or no sources of nanoarrow"
    return
  }
  compile wheel fake_cupti fake_cuda_program
}

# python_tests NAME MARKS: each process gets half of them in order, so that mostly one alone makes
# what a module's tests share, and takes over the other's when it is done.
python_tests() {
  python -m pytest -q -m "$2" -n "$(nproc)" --dist worksteal --junitxml="$results/pytest-$1.xml"
}

built_and_typed() {
  step "format: clang-format" scripts/format.sh --check cpp
  step "format and lint: ruff" scripts/format.sh --check python
  step "prose: words that say little" python scripts/prose.py
  step "layers: import-linter" env PYTHONPATH=python lint-imports --no-cache --no-logo
  step "build (warnings are errors)" scripts/build.sh --werror
  # After the build, which makes the type stub of the compiled module.
  step "types: mypy --strict" python -m mypy python/gpucast
}

lint() {
  built_and_typed
  step "lint: clang-tidy" tidy --keep-passed
}

quick() {
  built_and_typed
  step "C++ tests (warnings are errors)" tests_of_package
  step "gpucast trace: fake CUPTI" fake_cupti
  step "Python tests: quick" python_tests quick "not slow"
}

rest() {
  # Only slow Python tests want Extra-P: it is fetched while the rest compiles.
  make extrap >"$logs/setup-extrap.log" 2>&1 &
  extrap=$!
  # So are the programs that they measure, without which they are skipped.
  make examples >"$logs/setup-examples.log" 2>&1 &
  examples=$!
  step "lint: clang-tidy" tidy
  # Its preset has LeakSanitizer not look for dynamic thread-local storage: GCC 12's takes what lies
  # before a block at the begin of a page for its bounds, and dies of them.
  step "C++ tests under AddressSanitizer and UBSan" cpp_tests asan
  step "C++ tests under ThreadSanitizer" cpp_tests tsan
  # nvcc and the sanitizers do not go together.
  step "CUDA: what programs link with" cuda
  step "remote GPUs: fake driver and kernels" fake_driver
  step "set-up of Extra-P, begun earlier" begun "$extrap" setup-extrap.log
  step "set-up of programs to measure, begun earlier" begun "$examples" setup-examples.log
  step "set-up of a Slurm for tests" scripts/setup.sh slurm
  step "Python tests: slow" python_tests slow slow
}

# begun PROCESS LOG: waits for what was begun earlier; what could not be set up is told.
begun() {
  wait "$1" || {
    cat "$logs/$2"
    return 1
  }
  grep "could not" "$logs/$2" || true
}

trap 'python scripts/test_summary.py "$results"' EXIT
for part in "${@:-quick}"; do
  case "$part" in
    lint | quick | rest) "$part" ;;
    *) fail "$part: none of quick, rest, lint" ;;
  esac
done
