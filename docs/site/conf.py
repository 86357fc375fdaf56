"""How Sphinx builds the site; scripts/website.py runs it, and says what it is given."""

from __future__ import annotations

import gc

import indistinct

gc.disable()  # what is read of a page stays until the end; to look at it again and again takes a fifth of the time

project = "indistinct"
author = "The indistinct developers"
copyright = "The indistinct developers, Apache-2.0"
release = version = indistinct.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
suppress_warnings = ["misc.highlighting_failure"]  # an example with … in it is not quite JSON; it only lacks colours

myst_heading_anchors = 4  # the anchors that GitHub makes

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_display_short_literal_types = True
python_maximum_signature_line_length = 90
toc_object_entries = False

html_theme = "furo"
html_title = "indistinct"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/mark.svg"
html_logo = "static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5d6b",
        "color-brand-content": "#0b6b7c",
        "color-code-background": "#f3f6f7",
    },
    "dark_css_variables": {"color-brand-primary": "#6cc9d8", "color-brand-content": "#7fd3e0"},
    "source_repository": "https://github.com/indistinct/indistinct/",
    "source_branch": "main",
    "source_directory": "docs/",
    "top_of_page_buttons": [],
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
