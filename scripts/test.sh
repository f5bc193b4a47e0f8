#!/usr/bin/env bash
# Every check, the quick ones first; stops at the first that fails. At the end:
# what ran, what was skipped, and why.
#
#   scripts/test.sh        all (`make test`, after set-up)
#   scripts/test.sh lint   those that run no test (`make lint`)
#
# What takes longest and depends on little besides what it checks leaves out what is as it was at
# the commit in .ci/verified, at which it passed: clang-tidy, and the C++ tests of remote GPUs under
# both sanitizers. GPUCAST_FULL=1 leaves out nothing.

source "$(dirname "$0")/common.sh"
use_project_tools

readonly results=build/results
rm -rf "$results"
mkdir -p "$results" "$logs"

# step HEADING COMMAND...
step() {
  local heading=$1 begin=$SECONDS
  shift
  say "== $heading"
  if ! "$@"; then
    fail "failed: $heading"
  fi
  printf '%s\t%s\n' "$((SECONDS - begin))" "$heading" >>"$results/steps.tsv"
}

# skip HEADING WHY
skip() {
  say "== $1: skipped, $2"
  printf '%s\t%s\n' "$1" "$2" >>"$results/skipped.tsv"
}

any_file() {
  [[ -n "$(find "${@:2}" -name "$1" -print -quit 2>/dev/null)" ]]
}

# configure PRESET [OPTION...]
configure() {
  quietly "configure-$1.log" cmake --preset "$@" || {
    cat "$logs/configure-$1.log"
    return 1
  }
}

# The commit at which all passed, where it counts and is known here.
verified() {
  [[ -z "${GPUCAST_FULL:-}" && -f .ci/verified ]] || return 0
  local commit
  commit=$(<.ci/verified)
  git cat-file -e "$commit^{commit}" 2>/dev/null && printf '%s' "$commit"
  return 0
}
verified=$(verified)
readonly verified

# Whether client, server and fake driver, and what they are made of, are what they were then.
remote_is_verified() {
  [[ -n "$verified" ]] && git diff --quiet "$verified" -- remote schema support records devices cmake \
    CMakeLists.txt CMakePresets.json
}

tidy() {
  configure test &&
    python scripts/tidy.py ${verified:+--changed-since "$verified"} build/test build/wheel
}

# compile PRESET [TARGET...]: everything, or these, of what is configured.
compile() {
  quietly "build-$1.log" cmake --build --preset "$1" ${2:+--target "${@:2}"} || {
    grep -E 'error|FAILED' "$logs/build-$1.log" | head -n 40
    return 1
  }
}

addresses() {
  local remote=AUTO
  if remote_is_verified; then
    remote=OFF
    skip "remote GPUs under AddressSanitizer and UBSan" "nothing of it has changed since $verified, where it passed"
  fi
  configure asan -DGPUCAST_REMOTE="$remote" && compile asan &&
    ctest --preset asan --output-junit "$PWD/$results/ctest-asan.xml"
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
    ctest --preset test -R cuda --output-junit "$PWD/$results/ctest-test.xml"
}

# A fake CUDA driver, kernels for it and a CUDA program: tests/test_remote*.py run them with the
# server, the client and the programs of the same build, those that were installed.
remote() {
  [[ -x "$venv/bin/gpucast-gpu-server" ]] && scripts/nvcc.sh >/dev/null || {
    skip "remote GPUs over a fake driver" "no Asio or no CUDA compiler"
    return
  }
  quietly build-remote.log cmake --build build/wheel --target fake_cuda probe_kernels \
    microbench_kernels mdapp_kernels gpucast-remote-probe || {
    grep -E 'error|FAILED' "$logs/build-remote.log" | head -n 40
    return 1
  }
}

# Client, server and fake driver have threads of their own.
remote_threads() {
  [[ -x "$venv/bin/gpucast-gpu-server" ]] || {
    skip "remote GPUs under ThreadSanitizer" "built without them"
    return
  }
  if remote_is_verified; then
    skip "remote GPUs under ThreadSanitizer" "nothing of it has changed since $verified, where it passed"
    return
  fi
  configure tsan && compile tsan remote_tests remote_client_tests remote_session_tests &&
    ctest --preset tsan -L remote --output-junit "$PWD/$results/ctest-tsan.xml"
}

# The same program can then run over a runtime that takes its place.
imports_shared_runtime() {
  readelf -d "$venv/bin/$1" | grep -q 'NEEDED.*libcudart[.]so' || {
    say "$1: does not import libcudart.so"
    return 1
  }
}

# Tests that time something run alone first; the rest share the cores. Each process gets half of
# them in order, so that mostly one alone makes what a module's tests share, and takes over the
# other's when it is done.
pytest_all() {
  if grep -rqs --include='*.py' 'mark\.serial' tests; then
    python -m pytest -q -m serial --junitxml="$results/pytest-serial.xml" || return
  fi
  python -m pytest -q -m "not serial" -n 2 --dist worksteal --junitxml="$results/pytest.xml"
}

# Only Python tests want Extra-P: it is fetched while the rest compiles.
if [[ "${1:-}" != lint ]]; then
  make extrap >"$logs/setup-extrap.log" 2>&1 &
  readonly extrap=$!
fi
extrap_is_there() {
  wait "$extrap" || {
    cat "$logs/setup-extrap.log"
    return 1
  }
}

step "format: clang-format" scripts/format.sh --check cpp
step "format and lint: ruff" scripts/format.sh --check python
step "build (warnings are errors)" scripts/build.sh --werror
# After the build, which makes the type stub of the compiled module.
if any_file '*.py' python/gpucast; then
  step "types: mypy --strict" python -m mypy python/gpucast
else
  skip "types: mypy" "no Python sources"
fi
step "lint: clang-tidy" tidy
if [[ "${1:-}" == lint ]]; then
  exit 0
fi
# Once, with sanitizers: a second run without them would compile all of it again to see less.
step "C++ tests under AddressSanitizer and UBSan (warnings are errors)" addresses
# nvcc and the sanitizers do not go together.
step "CUDA: what programs link with" cuda
step "remote GPUs under ThreadSanitizer" remote_threads
step "remote GPUs over a fake driver: what their tests run" remote
if any_file 'test_*.py' tests; then
  step "set-up of Extra-P, begun at the start" extrap_is_there
  step "Python tests" pytest_all
else
  skip "Python tests" "no tests/test_*.py"
fi

python scripts/test_summary.py "$results"
