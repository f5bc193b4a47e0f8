"""Compress a file; the same content gives the same bytes.

python cmake/compress.py FROM TO.gz
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(source.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
