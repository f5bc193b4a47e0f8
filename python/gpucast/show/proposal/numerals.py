"""Number formats of countries."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpucast.errors import InputError
from gpucast.util import units

_POINT, _COMMA = (".", ","), (",", "\u202f")
_COMMAS = (
    "bg ca cs da de el es et eu fi fr gl hr hu is it lt lv nb nl nn no pl pt ro ru sk sl sr sv tr "
    "uk"
)
_BY_LANGUAGE = dict.fromkeys(("en", "he", "ja", "ko", "th", "zh"), _POINT) | dict.fromkeys(
    _COMMAS.split(), _COMMA
)
_BY_COUNTRY = {"de_CH": (".", "’"), "de_LI": (".", "’"), "it_CH": (".", "’"), "es_MX": _POINT}


@dataclass(frozen=True)
class Numerals:
    """A number format.

    Attributes:
        decimal: the decimal sign; group: the separator of groups of three digits.
    """

    decimal: str = "."
    group: str = ","

    def text(self, words: str) -> str:
        """Replace the decimal signs in an English text."""
        return re.sub(r"(?<=\d)\.(?=\d)", self.decimal, words)

    def number(self, value: float | None, digits: int = 4) -> str:
        """Format a number with ``digits`` digits and all before the decimal sign; whole numbers
        stay complete; ``-`` for None."""
        if value is None:
            return "-"
        if float(value).is_integer() or value >= 10 ** (digits - 1):
            return f"{value:,.0f}".replace(",", self.group)
        return self.text(f"{value:.{digits}g}")

    def digits(self, value: float | None, digits: int = 4) -> str:
        """Format a measured or forecast value, with trailing zeros."""
        if value is None or value >= 10 ** (digits - 1):
            return self.number(value, digits)
        return self.text(f"{value:#.{digits}g}")

    def percent(self, share: float | None, digits: int = 0) -> str:
        """Format a share in per cent."""
        return self._with_unit(units.percent(share, digits) or "-")

    def duration(self, seconds: float) -> str:
        """Format a step time."""
        return self._with_unit(units.duration(seconds))

    def long(self, seconds: float) -> str:
        """Format a time of seconds to days."""
        return self._with_unit(units.long_duration(seconds))

    def _with_unit(self, words: str) -> str:
        """Join number and unit by a no-break space."""
        return self.text(words).replace(" ", "\u00a0")


def numerals_of(name: str) -> Numerals:
    """Return the number format of a locale such as ``de`` or ``de_CH``.

    Raises:
        InputError: the language is not known.
    """
    language, _, country = name.partition(".")[0].replace("-", "_").partition("_")
    full = f"{language.lower()}_{country.upper()}"
    signs = _BY_COUNTRY.get(full) or _BY_LANGUAGE.get(language.lower())
    if signs is None:
        known = ", ".join(sorted(_BY_LANGUAGE))
        raise InputError(f"{name!r} is of no language that is known: {known}", field="--locale")
    return Numerals(*signs)
