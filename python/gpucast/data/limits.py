"""How large sizes and GPU counts may be: one definition for records, models and plans.

Apart from ``records``, which needs pydantic: a forecast is made before that is imported.
"""

from __future__ import annotations

LARGEST_N = 10**18
"""The largest size, whatever a program counts; whole numbers up to here fit 64 bits."""

SMALLEST_N = 1e-18
"""Below a whole of any unit; powers of sizes from here up are finite numbers."""

LARGEST_GPUS = 10**6
