"""``python -m gpucast.cli`` is ``gpucast``."""

import sys

from gpucast.cli import main

if __name__ == "__main__":
    sys.exit(main())
