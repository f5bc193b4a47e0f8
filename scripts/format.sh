#!/usr/bin/env bash
# Formats the sources, or with --check says which are not formatted.
#
#   scripts/format.sh            rewrites
#   scripts/format.sh --check    C++ and Python
#   scripts/format.sh --check cpp|python

source "$(dirname "$0")/common.sh"
use_project_tools

clang_format=(-i)
ruff_check=(--fix)
ruff_format=()
if [[ "${1:-}" == --check ]]; then
  clang_format=(--dry-run -Werror)
  ruff_check=()
  ruff_format=(--diff)
  shift
fi
language=${1:-cpp python}

if [[ "$language" == *cpp* ]]; then
  cpp_sources -print0 |
    xargs -0 --no-run-if-empty clang-format "${clang_format[@]}"
fi
if [[ "$language" == *python* ]]; then
  ruff check --quiet "${ruff_check[@]}" .
  ruff format --quiet "${ruff_format[@]}" .
fi
