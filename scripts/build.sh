#!/usr/bin/env bash
# Builds and installs gpucast into .venv, if anything it is made of changed.
#
# The build folder (build/wheel) is kept, so that only changed sources compile.
# Warnings are not errors here: a newer compiler must not stop a user. `make
# test` builds with errors.

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
      model fit records devices microbench mdapp remote python data \
      -name __pycache__ -prune -o -path "python/$stub" -prune -o \
      -type f -printf '%p %s %T@\n' 2>/dev/null || true; } | LC_ALL=C sort
  } | sha256sum
}

main() {
  local before site
  before=$(fingerprint)
  if [[ -f "$stamp" && "$(<"$stamp")" == "$before" ]]; then
    return
  fi
  say "build: gpucast into $venv (a minute or so the first time)"
  rm -f "$stamp"
  # pip copies nothing here and fetches nothing: sources are compiled in place.
  quietly build.log "$venv/bin/python" -m pip --disable-pip-version-check install \
    --no-input --no-deps --no-build-isolation . || {
    cat "$logs/build.log" >&2
    fail "the build failed; its output stands above and in $logs/build.log"
  }
  # mypy and editors look for the module's stub beside the sources.
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  if [[ -f "$site/$stub" ]]; then
    cp "$site/$stub" "python/$stub"
  fi
  printf '%s\n' "$before" >"$stamp"
}

main
