# Shared by the set-up and build scripts; sourced, never run.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=.venv
readonly venv_extrap=.venv-extrap
readonly venv_examples=.venv-examples
readonly logs=build/logs

# Folders that may hold C++ or CUDA; not every checkout has all of them.
readonly cpp_parts=(schema model fit records support devices microbench mdapp remote trace tests)

# cpp_sources FIND_ACTION...
cpp_sources() {
  find "${cpp_parts[@]}" -type f -regextype egrep \
    -regex '.*\.(h|hpp|cuh|cpp|cc|cu)' "$@" 2>/dev/null || true
}

say() { printf '%s\n' "$*" >&2; }

# One line that says what is missing and what to do about it.
fail() {
  say "gpucast: $*"
  exit 1
}

# quietly LOG COMMAND...: the command's output goes to build/logs/LOG, so that
# set-up prints a line a step instead of a thousand.
quietly() {
  local log="$logs/$1"
  shift
  mkdir -p "$logs"
  "$@" >"$log" 2>&1
}

# The last line of a log that names an error, for one-line messages.
reason() {
  grep -E '^(E:|ERROR|error:|fatal|su(do)?:)' "$logs/$1" | tail -n 1 || true
}

# Makes every command of the project see the same tools: those of .venv first,
# and one CUDA compiler, whichever scripts/nvcc.sh prefers.
use_project_tools() {
  export PATH="$PWD/$venv/bin:$PATH"
  export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
  local nvcc
  if nvcc=$(scripts/nvcc.sh); then
    export CUDACXX="$nvcc"
  else
    unset CUDACXX
  fi
}
