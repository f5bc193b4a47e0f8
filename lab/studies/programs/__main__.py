"""``python -m lab.studies.programs``."""

import sys
from pathlib import Path

# Studies know one another by the names that they have in this folder, as tests do.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from programs.command import main

sys.exit(main())
