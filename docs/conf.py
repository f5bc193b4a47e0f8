"""Sphinx: builds this folder into a site (make docs)."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "gpucast"
author = "the gpucast authors"
html_title = "gpucast"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "breathe",
    "matplotlib.sphinxext.plot_directive",
    # docs/extensions
    "commands",
    "headers",
    "logs",
    "mathml",
    "record_format",
    "units",
]
exclude_patterns = ["examples"]

# ---- pages
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4

smartquotes_action = "qe"  # options keep their two hyphens

# ---- Python
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_display_short_literal_types = True
python_maximum_signature_line_length = 90
napoleon_google_docstring = True
napoleon_numpy_docstring = False

# ---- C++
breathe_default_project = "gpucast"
breathe_projects: dict[str, str] = {}  # docs/extensions/headers.py
suppress_warnings = ["duplicate_declaration.cpp"]  # each header opens the namespaces again
cpp_maximum_signature_line_length = 90

# ---- plots, drawn while the site is built
plot_formats = [("svg", 100)]
plot_html_show_formats = False
plot_html_show_source_link = False

# ---- look
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_line_continuation_character = "\\"


def _plain_defaults(*event: object) -> tuple[str | None, str | None]:
    """Defaults that are made anew for each object have no spelling that Sphinx can read."""
    *_, signature, returns = event
    return signature and signature.replace("<factory>", "..."), returns


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", _plain_defaults)
