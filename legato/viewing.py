"""``legato.view``: a picture of a module's graph."""
from __future__ import annotations

import os
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from legato.compilable import Compilable, own_copy
from legato.core.errors import LegatoError
from legato.core.notebook import counted
from legato.dialects.module import Module
from legato.graph_boxes import GraphBox, graph_boxes
from legato.graph_layout import time_text
from legato.graph_svg import graph_dot, graph_svg
from legato.runtime.profile import Profile

SUFFIXES = (".svg", ".html", ".png", ".dot")
PNG_PACKAGE = "cairosvg"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body style="margin:0;background:#fff">
{picture}</body></html>
"""


class GraphView:
    """A picture of a graph. A notebook shows it; ``save`` writes a file; ``svg()`` and ``dot()`` give its text."""

    def __init__(self, boxes: list[GraphBox], title: str = "") -> None:
        self._boxes = boxes
        self._title = title

    def svg(self) -> str:
        """The picture as SVG."""
        return graph_svg(self._boxes, self._title)

    def dot(self) -> str:
        """The graph in the language of Graphviz, which can lay it out in other ways and make PDF of it."""
        return graph_dot(self._boxes, self._title)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the picture as ``.svg``, ``.html``, ``.png`` (by the package cairosvg, ``legato[png]``) or ``.dot``. Returns the path.
        LegatoError for another suffix, or if cairosvg, or the library libcairo that it calls, is not installed."""
        path = Path(path)
        check_view_file(path)
        if path.suffix == ".png":
            path.write_bytes(_png_package().svg2png(bytestring=self.svg().encode(), scale=2))
        elif path.suffix == ".html":
            path.write_text(PAGE.format(title=escape(path.stem), picture=self.svg()))
        else:
            path.write_text(self.svg() if path.suffix == ".svg" else self.dot())
        return path

    def __repr__(self) -> str:
        return f"<legato.GraphView of {len(self._boxes)} boxes>"

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto;max-height:80vh">{self.svg()}</div>'


def view(module: Compilable, profile: Profile | None = None) -> GraphView:
    """A picture of the graph of ``module``: a Module at any stage, or a function of ``legato.script``.

    Inputs and outputs, graph ops with the model's names and shapes, calls of kernels with the ops that they compute, and the parts of
    each backend in a colour of its own. ``profile``: of ``legato.profile``; each kernel shows its time, and its share of a run as a bar:
    at its call where the module is at the stage ``fused``, at the last of its ops where it is a graph. LegatoError if the module has no
    main. The module is not changed.
    """
    found = module if isinstance(module, Module) else own_copy(module)
    return GraphView(graph_boxes(found, profile), _headline(profile) if profile is not None else "")


def _headline(profile: Profile) -> str:
    whole = profile.undisturbed
    outside = f"{profile.other / whole if whole else 0:.1%} of it outside of kernels"
    return f"a run takes {time_text(whole)}, {counted(profile.threads, 'thread')}; {outside}"


def check_view_file(path: Path) -> None:
    """LegatoError if no picture can be written to the path, by its suffix."""
    if path.suffix not in SUFFIXES:
        raise LegatoError(f"a picture is written to a file that ends in {', '.join(SUFFIXES)}, not to '{path}'")
    if path.suffix == ".png":
        _png_package()


def _png_package() -> Any:
    """The package that makes PNG of SVG. LegatoError if it is not installed, or if it does not find its library."""
    if find_spec(PNG_PACKAGE) is None:
        raise LegatoError(f"PNG is made by the package {PNG_PACKAGE}, which is not installed: pip install 'legato[png]' "
                          "(SVG, HTML and dot need nothing)")
    try:
        return import_module(PNG_PACKAGE)
    except OSError as error:   # cffi finds no libcairo.so.2
        raise LegatoError(f"PNG is made by the package {PNG_PACKAGE}, which does not find the library libcairo: install it "
                          "(libcairo2 on Debian); SVG, HTML and dot need nothing") from error
