"""Small pieces of HTML, by which objects show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def listing(title: str, lines: Iterable[str]) -> str:
    """A title and a list of lines."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<b>{escape(title)}</b><ul>{items}</ul>"


def table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A title and a table of texts."""
    head = "".join(f"<th>{escape(each)}</th>" for each in headers)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<b>{escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
