#!/usr/bin/env bash
# Prints the version, which stands in CMakeLists.txt and nowhere else.
set -euo pipefail
sed -nE 's/^project\(gpucast VERSION ([0-9.]+).*/\1/p' "$(dirname "$0")/../CMakeLists.txt"
