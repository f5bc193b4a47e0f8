"""The system's Chromium, headless, as tests of pages start it."""

from __future__ import annotations

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

# Nothing that a browser does on its own: neither a sandbox, which root cannot have, nor networks.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
