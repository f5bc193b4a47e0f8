#!/usr/bin/env bash
# Prints the Python to make .venv from: 3.11 or newer, able to make a virtual
# environment and to compile extensions. Exits 1 where there is none.
#
#   scripts/python.sh           a Python that is ready
#   scripts/python.sh --system  the distribution's Python, ready or not
#                               (its -venv and -dev packages can be installed)

set -euo pipefail

# Version managers leave shims that exist but do not run, so each is tried.
recent='import sys; sys.exit(sys.version_info < (3, 11))'
ready='
import ensurepip, pathlib, sys, sysconfig, venv
headers = pathlib.Path(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info < (3, 11) or not headers.exists())'

if [[ "${1:-}" == --system ]]; then
  check=$recent folder=/usr/bin/
else
  check=$ready folder=
fi

for name in ${PYTHON:-} python3.13 python3.12 python3.11 python3; do
  python=$(command -v "$folder$name") || continue
  # The real interpreter, so that a shim's later choice cannot change .venv.
  if "$python" -c "$check" 2>/dev/null; then
    "$python" -c 'import sys; print(sys.executable)'
    exit 0
  fi
done
exit 1
