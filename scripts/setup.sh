#!/usr/bin/env bash
# Brings what the project needs onto a fresh Debian 12 or Ubuntu 24.04.
#
#   scripts/setup.sh system   compiler, CMake, libraries of the demo's build (apt; root or sudo)
#   scripts/setup.sh venv     .venv with what that build and its commands need
#   scripts/setup.sh cuda     apt and .venv: what the other parts are built with and the other commands
#                             need; a CUDA compiler and CUPTI's headers where the machine has none;
#                             nanoarrow's sources
#   scripts/setup.sh dev      .venv: formatters, linters, test tools; a browser for tests
#   scripts/setup.sh docs     .venv and apt: what the documentation site is built with
#   scripts/setup.sh extrap   .venv-extrap: Extra-P and scikit-learn, which forecasts are compared with
#   scripts/setup.sh slurm    apt: a Slurm that slow tests start (root; else they are skipped)
#   scripts/setup.sh examples .venv-examples and apt: programs that slow tests measure
#
# Each part may be run again at any time; the Makefile runs each once and
# again when this file or a list of requirements changes.

source "$(dirname "$0")/common.sh"

# libmetis-dev: CMake's description of Ceres 2.2 asks for it, Debian 12's 2.1 does not.
readonly system_packages=(
  g++ cmake ninja-build binutils
  libceres-dev libmetis-dev libeigen3-dev nlohmann-json3-dev libcli11-dev
)
# Remote GPUs, C++ tests, the schedule mpi.
readonly other_packages=(libasio-dev libssl-dev libgtest-dev libopenmpi-dev openmpi-bin)
readonly docs_packages=(doxygen fonts-lmodern)

# Wanted by tests alone, which are skipped without them.
readonly test_packages=(chromium)
readonly slurm_packages=(slurmctld slurmd slurm-client munge)
readonly example_packages=(gromacs python3-torch)

missing_of() {
  local package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] ||
      printf '%s\n' "$package"
  done
}

# Python's own two packages are installed only where the Python that would be
# used is the distribution's and lacks them.
missing_python() {
  local python version
  if ! scripts/python.sh >/dev/null; then
    python=$(scripts/python.sh --system) ||
      fail "no Python 3.11 or newer found (tried python3.13 to python3.11, python3): install one, or name it: make PYTHON=/path/to/python3"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    printf '%s\n' "python$version-venv" "python$version-dev"
  fi
}

# Empty for root; fails where there is neither root nor passwordless sudo.
privilege() {
  [[ $EUID -eq 0 ]] && return
  command -v sudo >/dev/null && sudo -n true 2>/dev/null && echo "sudo -n"
}

apt() {
  # Other package managers at work are waited for, not failed on.
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -y "$@"
}

setup_system() {
  if [[ "${GPUCAST_SYSTEM:-}" == skip ]]; then
    say "set-up: system packages left alone (GPUCAST_SYSTEM=skip)"
    return
  fi
  command -v dpkg-query >/dev/null ||
    fail "no Debian packages on this system: install the like of ${system_packages[*]} (for all parts also ${other_packages[*]}) with Python 3.11+, then run make GPUCAST_SYSTEM=skip"

  local listed
  listed=$(missing_of "${system_packages[@]}" && missing_python) || exit 1
  install_system_packages "$listed"
}

setup_others() {
  if [[ "${GPUCAST_SYSTEM:-}" != skip ]]; then
    install_system_packages "$(missing_of "${other_packages[@]}")"
  fi &
  local apt=$! # apt and pip wait for different things
  install_groups pip-others.log others
  wait "$apt"
}

# install_system_packages LINES: packages that are missing, one a line.
install_system_packages() {
  local listed=$1 missing by_hand as_root
  [[ -n "$listed" ]] || return 0
  mapfile -t missing <<<"$listed"
  by_hand="apt-get install --no-install-recommends ${missing[*]}"

  command -v apt-get >/dev/null ||
    fail "missing ${missing[*]}, and no apt-get here; install as root: $by_hand"
  as_root=$(privilege) ||
    fail "missing ${missing[*]}, and neither root nor passwordless sudo; install as root: $by_hand"

  say "set-up: installing ${missing[*]}"
  apt_install "${missing[@]}" ||
    fail "could not install ${missing[*]} ($(reason apt-install.log)); install as root: $by_hand"
}

# Uses as_root of whoever calls.
apt_install() {
  quietly apt-install.log apt install --no-install-recommends "$@" && return
  # There are no package lists yet, or they are too old and name files that are gone.
  quietly apt-update.log apt update || true # The install below says what is still missing.
  quietly apt-install.log apt install --no-install-recommends "$@"
}

# install_test_packages PACKAGE...: never fails, tests that lack one are skipped, and say so.
install_test_packages() {
  [[ "${GPUCAST_SYSTEM:-}" != skip ]] || return 0
  command -v apt-get >/dev/null || return 0
  local listed missing as_root
  listed=$(missing_of "$@")
  [[ -n "$listed" ]] || return 0
  mapfile -t missing <<<"$listed"
  say "set-up: installing ${missing[*]} for tests"
  if ! as_root=$(privilege) || ! apt_install "${missing[@]}"; then
    say "set-up: could not; tests that want ${missing[*]} will be skipped"
  fi
}

# The daemons must be started by root, so nobody else needs them. The services that Debian starts
# with the packages have no configuration, and stay away.
setup_slurm() {
  ((EUID)) || install_test_packages "${slurm_packages[@]}"
}

# pip_install LOG ENVIRONMENT ARGUMENTS...
pip_install() {
  quietly "$1" "$2/bin/python" -m pip --disable-pip-version-check install --no-input "${@:3}"
}

# requirements GROUP...: what pyproject.toml states, one a line. Groups are `build` (the back end),
# `runtime`, `others` and its dependency groups; older pips cannot install the first without building.
requirements() {
  "$venv/bin/python" - "$@" <<'END'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    content = tomllib.load(file)
extras = content["project"]["optional-dependencies"]
groups = content["dependency-groups"] | {
    "build": content["build-system"]["requires"],
    "runtime": content["project"]["dependencies"]
    + [each for name in ("figures", "proposal", "report", "serve") for each in extras[name]],
    "others": extras["parquet"],
}
print("\n".join(line for name in sys.argv[1:] for line in groups[name]))
END
}

# install_groups LOG GROUP...: into .venv.
install_groups() {
  local log=$1 packages constraints=scripts/constraints.txt
  mapfile -t packages < <(requirements "${@:2}")
  pip_install "$log" "$venv" --constraint "$constraints" "${packages[@]}" ||
    fail "could not install Python packages ($(reason "$log")); see $logs/$log, or try: $venv/bin/pip install -c $constraints ${packages[*]}"
}

make_venv() {
  local environment=$1 python
  "$environment/bin/python" -m pip --version >/dev/null 2>&1 && return
  python=$(scripts/python.sh) ||
    fail "no Python 3.11 or newer with venv and headers found: apt-get install python3-venv python3-dev, or name one: make PYTHON=/path/to/python3"
  rm -rf "$environment"
  quietly venv.log "$python" -m venv "$environment" ||
    fail "$python cannot make a virtual environment; see $logs/venv.log"
}

setup_venv() {
  make_venv "$venv"
  say "set-up: Python packages into $venv"
  install_groups pip-runtime.log build runtime
}

# Ubuntu's chromium is a snap, which containers do not run.
install_browser() {
  grep -q '^ID=ubuntu' /etc/os-release || install_test_packages "${test_packages[@]}"
}

setup_dev() {
  say "set-up: formatters, linters and test tools into $venv"
  install_browser &
  local apt=$!
  install_groups pip-dev.log dev
  wait "$apt"
}

setup_docs() {
  say "set-up: documentation tools"
  if [[ "${GPUCAST_SYSTEM:-}" != skip ]] && command -v dpkg-query >/dev/null; then
    install_system_packages "$(missing_of "${docs_packages[@]}")"
  fi &
  local apt=$!
  install_groups pip-docs.log docs
  wait "$apt"
}

setup_extrap() {
  make_venv "$venv_extrap"
  say "set-up: Extra-P into $venv_extrap"
  # Without dependencies first: Extra-P lists its desktop window (Qt), which a
  # command-line run never loads.
  local log=pip-extrap.log packages
  mapfile -t packages < <(requirements extrap)
  pip_install "$log" "$venv_extrap" --no-deps "${packages[0]}" &&
    pip_install "$log" "$venv_extrap" --constraint scripts/constraints-extrap.txt "${packages[@]:1}" ||
    fail "could not install ${packages[0]} ($(reason "$log")); see $logs/$log"
}

# Never fails: tests of programs that are not here are skipped, and say so.
setup_examples() {
  say "set-up: programs to measure into $venv_examples"
  install_test_packages "${example_packages[@]}" &
  local apt=$! packages
  make_venv "$venv_examples"
  mapfile -t packages < <(requirements examples)
  pip_install pip-examples.log "$venv_examples" --constraint scripts/constraints-examples.txt \
    "${packages[@]}" ||
    say "set-up: could not ($(reason pip-examples.log)); tests that want ${packages[*]} will be skipped"
  wait "$apt"
}

# The registry's packages lack two names that CMake looks for.
add_missing_links() {
  local toolkit=$1 runtime
  ln -sfn lib "$toolkit/lib64"
  runtime=$(cd "$toolkit/lib" && echo libcudart.so.1*)
  ln -sfn "$runtime" "$toolkit/lib/libcudart.so"
}

setup_cuda() {
  local nvcc
  setup_others
  if nvcc=$(scripts/nvcc.sh --machine); then
    say "set-up: CUDA compiler of this machine: $nvcc"
  else
    say "set-up: CUDA 13.0 compiler into $venv (no nvcc 12.4 or newer on this machine)"
    install_groups pip-cuda.log cuda
    add_missing_links "$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13)"
    scripts/nvcc.sh >/dev/null || fail "the CUDA compiler in $venv does not run; see $logs/pip-cuda.log"
    install_cupti
  fi
  unpack_nanoarrow
}

# A toolkit has it. Never fails, as what follows: all but the recorder of gpucast trace is built
# without.
install_cupti() {
  local packages
  mapfile -t packages < <(requirements cupti)
  pip_install pip-cupti.log "$venv" --constraint scripts/constraints.txt "${packages[@]}" ||
    say "set-up: no headers of CUPTI ($(reason pip-cupti.log)); gpucast trace will record nothing"
}

# Its package for Python is compiled; its sources hold the C library and flatcc's runtime.
unpack_nanoarrow() {
  local sources=$venv/sources archive
  [[ ! -e "$sources/nanoarrow-0.9.0" ]] || return 0
  say "set-up: sources of nanoarrow into $sources"
  mkdir -p "$sources"
  if ! quietly nanoarrow.log "$venv/bin/python" -m pip --disable-pip-version-check download \
    --no-input --no-deps --no-binary nanoarrow --require-hashes -r scripts/nanoarrow.txt \
    -d "$sources"; then
    say "set-up: could not ($(reason nanoarrow.log)); gpucast trace will record nothing"
    return 0
  fi
  archive=$sources/nanoarrow-0.9.0.tar.gz
  tar -xzf "$archive" -C "$sources" --transform 's,^nanoarrow-0.9.0/subprojects,nanoarrow-0.9.0.part,' \
    --wildcards '*/subprojects/arrow-nanoarrow/src/nanoarrow/*' '*/subprojects/flatcc-*/include/*' \
    '*/subprojects/flatcc-*/src/runtime/*' '*/subprojects/flatcc-*/LICENSE'
  mv "$sources"/nanoarrow-0.9.0.part/arrow-nanoarrow/src "$sources/nanoarrow-0.9.0.part/"
  mv "$sources"/nanoarrow-0.9.0.part/flatcc-* "$sources/nanoarrow-0.9.0.part/flatcc"
  mv "$sources/nanoarrow-0.9.0.part" "$sources/nanoarrow-0.9.0"
  rm "$archive"
}

case "${1:-}" in
  system | venv | dev | docs | extrap | examples | cuda | slurm) "setup_$1" ;;
  *) fail "usage: scripts/setup.sh system|venv|cuda|dev|docs|extrap|examples|slurm" ;;
esac
