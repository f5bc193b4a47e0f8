"""A JSON text that is read in pieces, because its list of events may be very long.

Only one value is in memory at a time, apart from values that the caller keeps.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from gpucast.util import limits

_PIECE = 1 << 20
_WORD = 64
"""Characters at the end of a piece that may begin a number or word."""
_BLANK = re.compile(r"[ \t\n\r]*")


class JsonPieces:
    """A position in a text.

    Raises:
        ValueError, RecursionError: by all methods, if the text is not JSON.
        InputError: by all methods, if the text is too large.
    """

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._stream = stream
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogatepass").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._bytes = 0
        self._ended = False

    def read(self, listed: str, take: Callable[[object], None]) -> dict[str, object]:
        """Return the object of the text without the list with this key, whose items are passed to
        ``take``.

        If the text is a list, it is that list, and the object is empty.
        """
        document: dict[str, object] = {}
        if self._next() == "[":
            self._hand_over(take)
        else:
            for key in self._keys():
                if key == listed and self._next() == "[":
                    self._hand_over(take)
                else:
                    document[key] = self._value()
        if self._next():
            raise ValueError("something follows its end")
        return document

    def _keys(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads the value of a key before the next."""
        self._skip("{")
        if self._next() == "}":
            self._skip("}")
            return
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise ValueError("a key is not text")
            self._skip(":")
            yield key
            if self._next() == "}":
                self._skip("}")
                return
            self._skip(",")

    def _hand_over(self, take: Callable[[object], None]) -> None:
        self._skip("[")
        most = limits.JSON_VALUES.most
        while self._next() != "]":
            if not most:
                raise limits.JSON_VALUES.error(self._file)
            most -= 1
            take(self._value())
            if self._next() != "]":
                self._skip(",")
                if self._next() == "]":
                    raise ValueError("Expecting value")
        self._skip("]")

    def _value(self) -> object:
        self._next()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.pos + _WORD > len(self._text) or "Unterminated" in error.msg
                if not is_cut or not self._more():
                    raise ValueError(error.msg) from None
                continue
            # A number at the end of a piece may continue in the next.
            if end == len(self._text) and self._more():
                continue
            self._at = end
            return value

    def _next(self) -> str:
        """The next non-blank character; "" at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            assert blank is not None
            self._at = blank.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _skip(self, character: str) -> None:
        if self._next() != character:
            raise ValueError(f"Expecting {character!r}")
        self._at += 1

    def _more(self) -> bool:
        """Read another piece, and drop the text before the position."""
        if self._ended:
            return False
        piece = self._stream.read(_PIECE)
        self._bytes += len(piece)
        limits.TRACE_TEXT.check(self._bytes, self._file)
        self._ended = not piece
        self._text = self._text[self._at :] + self._decode(piece, self._ended)
        self._at = 0
        limits.RECORD.check(len(self._text), self._file)
        return not self._ended
