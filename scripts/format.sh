#!/usr/bin/env bash
# Formats the sources, or with --check says which are not formatted.
#
#   scripts/format.sh            rewrites
#   scripts/format.sh --check    C++ and Python
#   scripts/format.sh --check cpp|python

source "$(dirname "$0")/common.sh"
use_project_tools

check=
if [[ "${1:-}" == --check ]]; then
  check=yes
  shift
fi
language=${1:-cpp python}

if [[ "$language" == *cpp* ]]; then
  # What git knows or would add: build folders stay out.
  git ls-files -z --cached --others --exclude-standard -- \
    '*.h' '*.hpp' '*.cuh' '*.cpp' '*.cc' '*.cu' |
    xargs -0 --no-run-if-empty clang-format ${check:+--dry-run -Werror} ${check:--i}
fi
if [[ "$language" == *python* ]]; then
  ruff check --quiet ${check:---fix} .
  ruff format --quiet ${check:+--diff} .
fi
