"""``gpucast serve``: the report as a local application, which loads files in the browser."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path

from gpucast.cli.options import argument, flag, option
from gpucast.cli.output import note
from gpucast.cli.progress import terminated_as_interrupted
from gpucast.errors import InputError
from gpucast.util.number_lists import counts

ADDRESS = "127.0.0.1"


def command(
    files: list[str] | None = argument(
        "Loaded at first: bundled datasets, files of records, or what import takes.",
        None,
        metavar="FILE",
    ),
    gpus: str | None = option("GPU counts to ask about: 1-16,64. Default: as of gpucast report."),
    port: int = option("Port on this machine; 0: any that is free.", default=0, min=0, max=65535),
    open_: bool = flag("--open", "Open the page in this machine's browser."),
) -> None:
    """Load step times in the browser, see the fit, and ask; for this machine only, until Ctrl-C."""
    from waitress.server import create_server

    from gpucast.serve.app import App
    from gpucast.serve.work import Source
    from gpucast.util.limits import INPUT

    if gpus is not None:
        if not files:
            message = "is asked of files; name them, or state counts on the page"
            raise InputError(message, field="--gpus")
        counts(gpus, "--gpus")
    with terminated_as_interrupted(), tempfile.TemporaryDirectory(prefix="gpucast-") as folder:
        app = App(Path(folder))
        if files:
            stated = {} if gpus is None else {"counts": gpus}
            app.load(Source(os.getcwd(), tuple(files), bundled=True), stated)
        try:
            server = create_server(
                app,
                host=ADDRESS,
                port=port,
                ident=None,
                # The page itself refuses files up to twice as large with a message.
                max_request_body_size=2 * INPUT.default,
            )
        except OSError as error:
            raise InputError(f"{port}: {error.strerror}", field="--port") from error
        url = f"http://{ADDRESS}:{server.effective_port}/{app.token}/"
        print(url, flush=True)
        note("whoever has this address can use it; Ctrl-C ends it")
        if open_:
            webbrowser.open(url)
        server.run()  # runs until Ctrl-C or SIGTERM
