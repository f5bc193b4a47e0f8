#!/usr/bin/env bash
# Builds wheels that run on other machines, and tries them where there is no compiler.
#
#   scripts/wheels.sh build [PYTHON...]    into dist/: for each Python, by default 3.11 (one wheel) and
#                                          3.12 or newer (one for it and all that follow: stable ABI)
#   scripts/wheels.sh check WHEEL PYTHON   in a fresh environment without compilers: installs the wheel,
#                                          makes a first forecast from a CSV, measures, rehearses
#
# Built on Debian 12 after `make setup`, they run on Linux x86_64 with glibc 2.34 or newer or what
# auditwheel then says. All is within, but for the CUDA runtime (gpucast[measure], or a CUDA 13
# toolkit); MPI is left out, as each cluster has its own: build from source for the schedule mpi.

source "$(dirname "$0")/common.sh"

readonly folder=build/wheels dist=dist

# The first of 3.12 and newer that is there, as a full path; version managers' own folders, too.
newer_python() {
  local python
  for python in python3.12 python3.13 python3.14 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      "$python" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  fail "no Python 3.12 or newer: name one (scripts/wheels.sh build /path/to/python3.12)"
}

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# tools PYTHON VERSION: an environment with what builds a wheel; prints its folder.
tools() {
  local environment=$folder/tools-$2 packages
  [[ -x "$environment/bin/python" ]] || quietly "wheels-$2.log" "$1" -m venv "$environment"
  mapfile -t packages < <("$1" - <<'END'
import tomllib

with open("pyproject.toml", "rb") as file:
    content = tomllib.load(file)
print("\n".join(content["build-system"]["requires"] + content["dependency-groups"]["wheels"]))
END
  )
  quietly "wheels-$2.log" "$environment/bin/python" -m pip --disable-pip-version-check install \
    --no-input --constraint scripts/constraints.txt "${packages[@]}" ||
    fail "could not install ${packages[*]}; see $logs/wheels-$2.log"
  echo "$PWD/$environment"
}

# What the wheel holds of others has to say so.
collect_licenses() {
  local package to=$folder/licenses
  rm -rf "$to" && mkdir -p "$to"
  for package in libasio-dev libceres-dev libcli11-dev libeigen3-dev libssl-dev libstdc++-12-dev \
    nlohmann-json3-dev; do
    cp -L "/usr/share/doc/$package/copyright" "$to/$package.txt" ||
      fail "no licence of $package: wheels are built on Debian 12, after make setup"
  done
  cp "$venv/sources/nanoarrow-0.9.0/flatcc/LICENSE" "$to/flatcc.txt"
  cp "$1"/lib/python3*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$to/nanobind.txt"
}

build_one() {
  local python=$1 version environment raw log
  version=$(version_of "$python")
  environment=$(tools "$python" "$version") || exit 1
  log=wheel-$version.log raw=$folder/raw-$version
  collect_licenses "$environment"
  say "wheel for Python $version: compiles everything (log: $logs/$log)"
  local -a options=(
    "build-dir=$folder/build-$version"
    cmake.define.GPUCAST_PORTABLE=ON "cmake.define.GPUCAST_LICENSES=$PWD/$folder/licenses"
    cmake.define.GPUCAST_{CUDA,REMOTE,TRACE}=ON cmake.define.GPUCAST_MPI=OFF
  )
  [[ "$version" == 3.11 ]] || options+=(wheel.py-api=cp312)
  rm -rf "$raw"
  # Debian 12's pip does not know these options' short name.
  PATH=$environment/bin:$PATH quietly "$log" "$environment/bin/python" -m pip \
    --disable-pip-version-check wheel --no-deps --no-build-isolation -v -w "$raw" . \
    "${options[@]/#/--config-settings=}" ||
    fail "no wheel for Python $version ($(reason "$log")); see $logs/$log"
  # The runtime is whichever the machine has; a remote-GPU client takes its place.
  PATH=$environment/bin:$PATH quietly "repair-$version.log" auditwheel repair \
    --exclude 'libcudart.so.*' -w "$dist" "$raw"/gpucast-*.whl ||
    fail "auditwheel: $(tail -n 1 "$logs/repair-$version.log")"
}

build() {
  use_project_tools
  # It would go into each wheel.
  ! compgen -G 'python/gpucast/_core*.so' >/dev/null ||
    fail "a module lies in the sources: remove python/gpucast/_core*.so"
  mkdir -p "$folder" "$dist"
  local -a pythons=("$@")
  if (($# == 0)); then
    pythons=("$(PYTHON=/usr/bin/python3.11 scripts/python.sh)" "$(newer_python)")
  fi
  local python
  for python in "${pythons[@]}"; do
    build_one "$python"
  done
  du -h "$dist"/gpucast-*.whl >&2
}

# A path with Python and the shell's own tools, and nothing that compiles.
bare_path() {
  local tool to=$1
  mkdir -p "$to"
  for tool in bash cat env head ls mkdir rm sh tail uname; do
    ln -sf "$(command -v "$tool")" "$to/$tool"
  done
}

# Step times for a first forecast, by their full path.
readonly example=$PWD/python/gpucast/demo/water.csv

check() {
  local wheel python bare
  wheel=$(realpath "$1") python=$2 bare=$(mktemp -d)
  # shellcheck disable=SC2064 # its value now: it is local
  trap "rm -rf '$bare'" EXIT
  bare_path "$bare/tools"
  cd "$bare"
  cat "$example" >steps.csv
  say "$("$python" --version), $(basename "$wheel")"
  SECONDS=0
  "$python" -m venv env
  clean() { env -i HOME="$bare" PATH="$bare/env/bin:$bare/tools" LANG=C.UTF-8 "$@"; }
  clean python -m pip --disable-pip-version-check install -q "$wheel" ||
    fail "could not be installed"
  say "installed: $SECONDS s"
  clean gpucast fit steps.csv -o model.json
  clean gpucast predict model.json -n 20000,3e6 --gpus 1-4 --best
  say "first forecast: $SECONDS s after the beginning"
  clean gpucast data list | head -n 12
  clean gpucast remote serve --help | head -n 1
  if clean gpucast figures steps steps.csv -o figures; then fail "figures without matplotlib?"; fi
  clean python -m pip --disable-pip-version-check install -q "$wheel[measure,figures,report]"
  clean gpucast figures steps steps.csv -o figures
  clean gpucast report model.json -o report.html
  clean gpucast-mdapp check --engine host | tail -n 1
  clean gpucast-microbench check --engine host | tail -n 1
  say "all of it: $SECONDS s"
}

case "${1:-}" in
  build) build "${@:2}" ;;
  check) check "${2:?wheel}" "${3:?python}" ;;
  *) fail "usage: scripts/wheels.sh build|check ..." ;;
esac
