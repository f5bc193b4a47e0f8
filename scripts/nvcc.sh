#!/usr/bin/env bash
# Prints the CUDA compiler to build with, or exits 1 where there is none.
#
# A compiler that is already on the machine wins over the one that set-up
# installs into .venv: it belongs to that machine's driver. Older than 12.4 it
# cannot compile this project (C++20), and is passed over.
#
#   scripts/nvcc.sh            any compiler
#   scripts/nvcc.sh --machine  only those that are not in .venv

set -euo pipefail
cd "$(dirname "$0")/.."

readonly oldest=12.4

# Bare names are looked up in PATH; what is printed is always a full path.
candidates() {
  printf '%s\n' "${CUDACXX:-}" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" \
    "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" nvcc /usr/local/cuda/bin/nvcc
  if [[ "${1:-}" != --machine ]]; then
    printf '%s\n' "$PWD"/.venv/lib/python3*/site-packages/nvidia/cu1*/bin/nvcc
  fi
}

while IFS= read -r candidate; do
  [[ -n "$candidate" ]] && path=$(command -v "$candidate") || continue
  [[ "${1:-}" != --machine || "$path" != "$PWD"/.venv/* ]] || continue
  version=$("$path" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  if [[ -n "$version" ]] && printf '%s\n' "$oldest" "$version" | sort -VC; then
    printf '%s\n' "$path"
    exit 0
  fi
done < <(candidates "$@")
exit 1
