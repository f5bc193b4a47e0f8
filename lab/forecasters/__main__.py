"""``python -m lab.forecasters``."""

import sys

from lab.forecasters.command import main

sys.exit(main())
