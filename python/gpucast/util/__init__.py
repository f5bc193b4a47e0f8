"""What every part may use: files, processes, tables, units, JSON, medians."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""An answer as ``json`` writes it; its keys stand in the documentation."""
