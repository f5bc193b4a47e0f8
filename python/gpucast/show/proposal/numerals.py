"""Numbers as people of a country write them."""

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
    """How numbers are written.

    Attributes:
        decimal: the sign before decimals; group: between every three digits of long numbers.
    """

    decimal: str = "."
    group: str = ","

    def text(self, words: str) -> str:
        """English words with their decimals written so."""
        return re.sub(r"(?<=\d)\.(?=\d)", self.decimal, words)

    def number(self, value: float | None, digits: int = 4) -> str:
        """So many digits, and all those before the decimal sign; whole numbers as they are; ``-``
        for None."""
        if value is None:
            return "-"
        if float(value).is_integer() or value >= 10 ** (digits - 1):
            return f"{value:,.0f}".replace(",", self.group)
        return self.text(f"{value:.{digits}g}")

    def digits(self, value: float | None, digits: int = 4) -> str:
        """The same of a measured or forecast value, with zeros at its end."""
        if value is None or value >= 10 ** (digits - 1):
            return self.number(value, digits)
        return self.text(f"{value:#.{digits}g}")

    def percent(self, share: float | None, digits: int = 0) -> str:
        """A share as per cent."""
        return self._with_unit(units.percent(share, digits) or "-")

    def duration(self, seconds: float) -> str:
        """A time of a step."""
        return self._with_unit(units.duration(seconds))

    def long(self, seconds: float) -> str:
        """A time of seconds to days."""
        return self._with_unit(units.long_duration(seconds))

    def _with_unit(self, words: str) -> str:
        """No line ends between a number and its unit."""
        return self.text(words).replace(" ", "\u00a0")


def numerals_of(name: str) -> Numerals:
    """Numerals of a locale such as ``de`` or ``de_CH``.

    Raises:
        InputError: of a language that is not known.
    """
    language, _, country = name.partition(".")[0].replace("-", "_").partition("_")
    full = f"{language.lower()}_{country.upper()}"
    signs = _BY_COUNTRY.get(full) or _BY_LANGUAGE.get(language.lower())
    if signs is None:
        known = ", ".join(sorted(_BY_LANGUAGE))
        raise InputError(f"{name!r} is of no language that is known: {known}", field="--locale")
    return Numerals(*signs)
