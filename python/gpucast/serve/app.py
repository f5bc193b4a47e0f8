"""The pages of the application, and access control.

Access requires the address that ``gpucast serve`` printed: its first part is a secret, which no
other site knows. Requests under a host name other than this machine's own (DNS rebinding) are
refused. No request can name a file of this machine.
"""

from __future__ import annotations

import hmac
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias

from werkzeug.exceptions import (
    Forbidden,
    HTTPException,
    MethodNotAllowed,
    NotFound,
    RequestEntityTooLarge,
)
from werkzeug.wrappers import Request, Response

from gpucast.errors import GpucastError, InputError, from_os_error
from gpucast.serve.work import SETTINGS, Answer, Order, Source, answer, apart
from gpucast.show.report.render import loading_page, page
from gpucast.util import JsonObject, limits, version

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from werkzeug.datastructures import FileStorage

Work: TypeAlias = Callable[[Order], Answer]

HEADERS = {
    "Cache-Control": "no-store",
    # In addition to the page's own policy, which restricts scripts.
    "Content-Security-Policy": "frame-ancestors 'none'; base-uri 'none'; object-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

WRONG_ADDRESS = "This is not the address that gpucast serve printed; it has a secret in it."

LONGEST_NAME = 200
"""Longest name of a file (bytes); file systems allow 255."""


class _Request(Request):
    trusted_hosts = ["127.0.0.1", "localhost"]  # noqa: RUF012 (as werkzeug declares it)
    max_content_length = limits.INPUT.default


@dataclass(frozen=True)
class State:
    """The result of the last files and settings."""

    order: Order | None = None
    answer: Answer | None = None
    error: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


class App:
    """The WSGI application for one user, who loads one set of files at a time.

    Args:
        folder: folder for uploaded files, which the caller removes.
        work: function that answers an order; by default in a separate process.
    """

    def __init__(self, folder: Path, work: Work | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        self._work: Work = work or (lambda order: apart(answer, order))
        self._inbox = Inbox(folder / "files")
        self._state = State()
        self._busy = threading.Lock()

    def load(self, source: Source, stated: Mapping[str, str] | None = None) -> None:
        """Load these files; ``stated``: settings that they lack, by the names of ``SETTINGS``.

        Raises:
            GpucastError: the files cannot be read or fitted.
        """
        order = Order(source, stated or {})
        self._state = State(order, self._work(order), settings=order.stated)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = _Request(environ)
        try:
            response = self._response(request)
        except HTTPException as error:
            response = Response(f"{error.description}\n", error.code, mimetype="text/plain")
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response(environ, start_response)

    def _response(self, request: _Request) -> Response:
        _ = request.host  # raises if the name is not this machine's own
        _, token, *rest = request.path.split("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise Forbidden(WRONG_ADDRESS)
        if not rest:
            return _see_other(f"/{self.token}/")
        if rest == [""] and request.method == "POST":
            return self._loaded(request)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed
        if rest == [""]:
            return Response(self._page(self._state), mimetype="text/html")
        return self._download("/".join(rest))

    def _loaded(self, request: _Request) -> Response:
        """Read and fit the form's files, then redirect, so that a reload does not send them
        again."""
        if not self._busy.acquire(blocking=False):
            state = State(self._state.order, error="Another fit is under way; wait for its end.")
            return Response(self._page(state), 409, mimetype="text/html")
        try:
            return self._fitted(request)
        finally:
            self._busy.release()

    def _fitted(self, request: _Request) -> Response:
        order, stated, status = self._state.order, self._state.settings, 422
        try:
            stated = {name: request.form.get(name, "") for name in SETTINGS}
            sent = [file for file in request.files.getlist("files") if file.filename]
            if sent:
                order = None  # the previous files are gone, even if these are refused
                order = Order(self._inbox.take(sent), stated)
            elif order is None:
                raise InputError("choose a file of step times")
            else:
                order = Order(order.source, stated, _series(request.form.get("series")))
            self._state = State(order, self._work(order), settings=stated)
            return _see_other("./")
        except RequestEntityTooLarge:
            error, status = f"files are larger than {limits.INPUT.default >> 20} MiB together", 413
        except OSError as problem:
            error, status = str(from_os_error(problem)), 500
        except GpucastError as problem:
            error = str(problem)
        self._state = State(order, error=error, settings=stated)
        return Response(self._page(self._state), status, mimetype="text/html")

    def _page(self, state: State) -> str:
        answer = state.answer
        panel: JsonObject = {
            "files": list(state.order.source.names) if state.order else [],
            "error": state.error,
            "settings": [
                {"name": name, "meaning": meaning, "value": state.settings.get(name, "")}
                for name, meaning in SETTINGS.items()
            ],
            "most": limits.INPUT.default,
            "understood": answer.understood if answer else [],
            "warnings": answer.warnings if answer else [],
            "series": answer.series if answer else [],
            "chosen": answer.chosen if answer else 0,
            "downloads": list(self._downloads()) if answer else [],
        }
        if answer is None:
            return loading_page(panel)
        return page(answer.content, version=version(), panel=panel, downloads=answer.downloads)

    def _downloads(self) -> dict[str, Callable[[], str]]:
        answer = self._state.answer
        if answer is None:
            return {}
        models = {
            f"{re.sub('[^0-9A-Za-z]+', '-', label).strip('-') or 'model'}-{at}.json": text
            for at, (label, text) in enumerate(answer.models, start=1)
        }
        return {
            "report.html": lambda: page(
                answer.content, version=version(), downloads=answer.downloads
            ),
            **{name: lambda text=text: text for name, text in models.items()},  # type: ignore[misc]
        }

    def _download(self, name: str) -> Response:
        made: Any = self._downloads().get(name)
        if made is None:
            raise NotFound("There is no such page.")
        kind = "text/html" if name.endswith(".html") else "application/json"
        response = Response(made(), mimetype=kind)
        response.headers.set("Content-Disposition", "attachment", filename=name)
        return response


def _series(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,6}", text) else None


def _see_other(where: str) -> Response:
    # Relative, because the browser may use any name of this machine.
    response = Response(status=303)
    response.autocorrect_location_header = False
    response.headers["Location"] = where
    return response


class Inbox:
    """The last uploaded files, in a folder that the caller removes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, uploads: Iterable[FileStorage]) -> Source:
        """Keep these files instead of the previous ones.

        Raises:
            InputError: a file's name is invalid, or two files have the same name.
        """
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        folder = Path(mkdtemp(dir=self._folder))
        names: list[str] = []
        for upload in uploads:
            name = plain_name(upload.filename or "")
            if name in names:
                raise InputError("is given twice, so that its samples would count twice", file=name)
            with open(folder / name, "xb") as file:
                shutil.copyfileobj(upload.stream, file)
            names.append(name)
        return Source(str(folder), tuple(names))


def plain_name(sent: str) -> str:
    """Return the last part of an uploaded file's name.

    Raises:
        InputError: it is not a valid file name.
    """
    name = sent.replace("\\", "/").rpartition("/")[2]
    if name in ("", ".", "..") or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise InputError(f"{name[:40]!r} is no name of a file; rename it")
    return name
