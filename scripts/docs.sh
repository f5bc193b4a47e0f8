#!/usr/bin/env bash
# Builds the documentation site; a warning is an error.
#
#   scripts/docs.sh [FOLDER]   into FOLDER/html (default: build/docs)

source "$(dirname "$0")/common.sh"
use_project_tools

readonly target=${1:-build/docs}
python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env --jobs auto -b html \
  -d "$target/trees" docs "$target/html"
say "documentation: $target/html/index.html"
