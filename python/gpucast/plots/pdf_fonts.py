"""What of a font goes into a PDF: the outlines of its glyphs, not the rules by which to set them.

matplotlib has fontTools cut a font down to the glyphs of a figure. Most of the time went into the
tables of ligatures, kerning and formulas, and more glyphs came in by them; but a PDF places every
glyph itself, and its readers never look there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fontTools import subset  # type: ignore[import-untyped]

RULES = ("GDEF", "GPOS", "GSUB", "MATH", "kern")


class _Outlines(subset.Options):  # type: ignore[misc]
    """fontTools' options, with the rules among the tables that are dropped."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.drop_tables += RULES


@contextmanager
def outlines_only() -> Iterator[None]:
    """Fonts are embedded without their rules, until the block ends."""
    before = subset.Options
    subset.Options = _Outlines
    try:
        yield
    finally:
        subset.Options = before
