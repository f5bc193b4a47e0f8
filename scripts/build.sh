#!/usr/bin/env bash
# Builds and installs gpucast into .venv, if anything it is made of changed.
#
#   scripts/build.sh            warnings are no errors: a newer compiler must not stop a user
#   scripts/build.sh --werror   they are: `make test`, which then builds C++ tests in the same folder
#   scripts/build.sh --demo     before `make setup`, what `make demo` needs: without kernels for GPUs,
#                               remote GPUs, the recorder of traces and the schedule mpi
#
# The build folder (build/wheel) is kept, so that only changed sources compile. Once asked for,
# errors stay so in it: compiling all again whenever that changes would help nobody.

source "$(dirname "$0")/common.sh"
use_project_tools

readonly stamp=$venv/.stamps/build
readonly stub=gpucast/_core.pyi

# Names, times and sizes of all that goes into the package, and the compiler:
# removed files count as changes too.
fingerprint() {
  {
    echo "${CUDACXX:-no CUDA}"
    # Not every folder is there in every checkout: find's complaints are dropped.
    { find CMakeLists.txt cmake pyproject.toml LICENSE README.md \
      schema model fit support records devices microbench mdapp remote trace python data \
      -name __pycache__ -prune -o -path "python/$stub" -prune -o \
      -type f -printf '%p %s %T@\n' 2>/dev/null || true; } | LC_ALL=C sort
  } | sha256sum
}

main() {
  local before built part site strictly= what= parts=AUTO
  local -a options=()
  case "${1:-}" in
    --werror)
      strictly=" warnings are errors"
      options=(--config-settings=cmake.define.GPUCAST_WERROR=ON
        --config-settings=cmake.define.GPUCAST_TESTS=ON)
      ;;
    --demo)
      if [[ ! -e $venv/.stamps/cuda ]]; then
        what=" demo" parts=OFF
      fi
      ;;
  esac
  # Stated each time, as the build folder remembers what it was told before.
  for part in CUDA REMOTE TRACE MPI; do
    options+=("--config-settings=cmake.define.GPUCAST_$part=$parts")
  done
  before=$(fingerprint)
  # What was built strictly will do for both, and all parts for the demo.
  built=$(cat "$stamp" 2>/dev/null || true)
  if [[ "$built" == "$before"*"$strictly" && ("$what" || "$built" != *" demo") ]]; then
    return
  fi
  if [[ -n "$what" ]]; then
    say "build: what the demo needs into $venv (two minutes or so; make build brings GPUs and all else)"
  else
    say "build: gpucast into $venv (a few minutes the first time)"
  fi
  rm -f "$stamp"
  # pip copies nothing here and fetches nothing: sources are compiled in place.
  quietly build.log "$venv/bin/python" -m pip --disable-pip-version-check install \
    --no-input --no-deps --no-build-isolation "${options[@]}" . || {
    cat "$logs/build.log" >&2
    fail "the build failed; its output stands above and in $logs/build.log"
  }
  # mypy and editors look for the module's stub beside the sources.
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  if [[ -f "$site/$stub" ]]; then
    cp "$site/$stub" "python/$stub"
  fi
  printf '%s\n' "$before$what$strictly" >"$stamp"
}

main "$@"
