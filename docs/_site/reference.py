"""Directives that write the reference from the package itself: the API, passes, targets, backends, ONNX ops, and the tools' help."""
import contextlib
import importlib
import inspect
import io
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import legato
from legato.frontends.onnx.ops import ENTRIES
from legato.passes.pipeline.options import options_of
from legato.passes.pipeline.registry import PASSES, load
from legato.targets.builtin import TARGETS

TOOLS = {"legato-compile": "legato_compile", "legato-run": "legato_run", "legato-reduce": "legato_reduce",
         "legato-opt": "legato_opt", "legato-config": "legato_config"}
ROOMS = {"graph": "Graph", "partition": "Partitioning", "legalize": "Legalization", "structured": "Structured kernels", "loops": "Loops",
         "memory": "Memory", "calls": "Calls of packed functions", "cpu": "CPUs", "gpu": "GPUs", "codegen": "Entry"}
ONNX_OPS = "https://onnx.ai/onnx/operators/onnx__{}.html"


def public_names() -> Iterator[list[str]]:
    """autodoc's directives for the public names of ``legato``: classes, functions, then modules with their own names."""
    values = {name: getattr(legato, name) for name in legato.__all__}
    classes = [name for name, value in values.items() if inspect.isclass(value)]
    functions = [name for name, value in values.items() if inspect.isfunction(value)]
    yield heading("Functions")
    for name in functions:
        yield [f".. autofunction:: legato.{name}", ""]
    yield heading("Classes and errors")
    for name in classes:
        members = [] if issubclass(values[name], Exception) else ["   :members:", *inherited(values[name])]
        yield [f".. autoclass:: legato.{name}", *members, ""]
    for module in ("cache", "kernels", "patterns", "artifacts"):
        yield heading(f"legato.{module}")
        yield [inspect.getdoc(values[module]) or "", ""]
        for name in values[module].__all__:
            value = getattr(values[module], name)
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            yield [f".. auto{kind}:: legato.{module}.{name}", *(["   :members:"] if kind == "class" else []), ""]


def inherited(kind: type) -> list[str]:
    """The option for the members of base classes, where these are all of this project."""
    bases = kind.__mro__[1:-1]
    return ["   :inherited-members:"] if bases and all(base.__module__.startswith("legato.") for base in bases) else []


def passes() -> Iterator[list[str]]:
    """Each pass with its help and options, in the order of the pipeline, by the room that it stands in."""
    rooms = defaultdict(list)
    for name, place in PASSES.items():
        module = place.partition(":")[0].split(".")
        rooms[module[1] if module[0] == "passes" else module[0]].append(name)
    for room, names in rooms.items():
        yield heading(ROOMS[room])
        for name in names:
            yield heading(name, "~")
            yield [*load(name).help().splitlines(), ""]
            for option in options_of(load(name)):
                default = "empty" if option.default == "" else f"``{option.default}``"
                yield [f"- ``{option}``: {option.help or 'see above'} (default: {default})"]
            yield [""]


def targets() -> Iterator[list[str]]:
    """Each target: what it is, its parents, options and stages."""
    for target in TARGETS:
        yield heading(target.name)
        yield [f"{target.doc}.", ""]
        yield [f"Asked in turn for rules: ``{' -> '.join(one.name for one in target.chain())}``.", ""]
        if target.options:
            options = ", ".join(f"``{key}={shown(value)}``" for key, value in target.options.items())
            yield [f"Options, with their defaults: {options}.", ""]
        stages = [name for name, _ in target.templates()]
        if stages:
            yield ["Stages: " + ", ".join(f"``{name}``" for name in stages) + ".", ""]


def onnx_ops() -> Iterator[list[str]]:
    """A table of the ONNX ops that have an import of their own, with the since-versions of their definitions."""
    yield [".. list-table::", "   :header-rows: 1", "", "   * - op", "     - versions"]
    for (domain, name), entry in sorted(ENTRIES.items()):
        link = f"`{name} <{ONNX_OPS.format(name)}>`__" if not domain else f"{domain}.{name}"
        yield [f"   * - {link}", f"     - {', '.join(map(str, entry.versions))}"]
    yield [""]


def tools() -> Iterator[list[str]]:
    """The help of each tool."""
    for name, module in TOOLS.items():
        yield heading(name)
        yield [".. code-block:: none", "", *(f"   {line}" for line in help_of(module).splitlines()), ""]


def help_of(module: str) -> str:
    """What a tool prints for ``--help``."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        importlib.import_module(f"legato.tools.{module}").main(["--help"])
    return printed.getvalue()


def heading(text: str, line: str = "-") -> list[str]:
    """A section's title."""
    return ["", text, line * len(text), ""]


def shown(value: Any) -> str:
    """A value as a target's text has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def directive(write: Callable[[], Iterator[list[str]]]) -> type[SphinxDirective]:
    """A directive whose content is what ``write`` gives, in reStructuredText."""

    class Generated(SphinxDirective):
        def run(self) -> list[nodes.Node]:
            lines = [line for part in write() for line in part]
            found = nodes.section()
            self.state.nested_parse(StringList(lines, source=write.__name__), 0, found, match_titles=True)
            return found.children

    return Generated


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the directives."""
    for name, write in (("legato-api", public_names), ("legato-passes", passes), ("legato-targets", targets),
                        ("legato-onnx-ops", onnx_ops), ("legato-tools", tools)):
        app.add_directive(name, directive(write))
    for language in ("mlir", "console", "text"):
        app.add_lexer(language, TextLexer)
    return {"parallel_read_safe": True}
