"""The documentation site: ``make docs`` builds it into build/docs, with warnings as errors."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

import legato

project = "Legato"
author = "the Legato authors"
copyright = author
version = release = legato.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "reference"]
exclude_patterns = ["_site", "_static"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3                    # links such as legalization.md#intrinsics are checked

suppress_warnings = ["ref.python"]          # attributes of one name in several classes, in annotations

html_theme = "furo"
html_title = f"Legato {release}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_copyright = False
html_copy_source = False
highlight_language = "none"
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"
