"""Backends: external compilers and libraries that take over parts of a graph."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from legato.analysis.patterns import Composite, Match, all_matches, as_composites
from legato.core.errors import LegatoError
from legato.core.mlir import ext, func
from legato.core.user_code import blamed, prefixed
from legato.dialects.artifacts import Artifact
from legato.dialects.module import Module
from legato.targets.classes import check_classes
from legato.targets.target import nearest

NAME = re.compile(r"[A-Za-z_]\w*")


class Backend:
    """Base of backends. A subclass defines, as class attributes or (for a value with options of its own) in its ``__init__``:

    ``name``: letters, digits, ``_``. ``patterns``: the ops it supports, by priority: ``composite(name, pattern, check)``, or such tuples.
    ``pipeline``: passes that run on its external modules before ``codegen``, as text or a list; ``passes``: pass classes that the
    pipeline may use besides Legato's. ``dialects``: defined in Python, that its passes and its code generation use. ``requires``: Python
    packages that its code needs at compile time and at run time, by the names to import (``"cuda:cuda-python"`` where pip's name differs).
    ``options``: the names of those that ``codegen`` takes. ``min_ops``: merged groups of fewer ops stay with the host (1: none).
    ``before``: passes that run on the graph before the patterns are matched, as ``pipeline``; those of the default fold constants and
    canonicalize, and leave nothing of quantized arithmetic as it was imported (``patterns.quantize``): a backend of such models has
    ``before = "relax-infer-shapes"``.
    """

    name: str = ""
    patterns: Sequence[Any] = ()
    pipeline: Any = ""
    passes: Sequence[type] = ()
    dialects: Sequence[type[ext.Dialect]] = ()
    requires: Sequence[str] = ()
    options: Sequence[str] = ()
    min_ops: int = 1
    before: Any = "relax-infer-shapes,relax-require-sizes{unused=true},relax-fold-constants,relax-canonicalize"

    def codegen(self, module: Module, options: Mapping[str, str]) -> Artifact | Sequence[Artifact]:
        """Generates code for one external module, a copy that may be changed.

        The host calls its public functions; constants are inside. A composite is a function marked ``relax.composite =
        "backend.pattern"``: a public one, or a private one that a public one calls (the pass relax-inline inlines these). Raises
        LegatoError if it fails.
        """
        raise LegatoError(f"the backend '{self.name}' generates no code: {type(self).__name__} has no method codegen")

    def matches(self, function: func.FuncOp) -> list[Match]:
        """The matches of the patterns in a function that ``codegen`` has got, in the order in which they run; each has the parts that its
        pattern names (``match["conv"].attrs``), as in ``check``. The function has no calls of composites: the pipeline inlines them by
        relax-inline. Together the matches are all of it: LegatoError for an op in none of them, such as one that the pipeline made."""
        return all_matches(self.composites(), function, f"the backend '{self.name}'")

    def check_options(self, options: Mapping[str, str]) -> None:
        """LegatoError for options that ``codegen`` does not take: those that its field ``options`` does not name. One that looks at their
        values, too, calls this one first. It is called before a model is imported and partitioned, and before code is generated."""
        if options and not self.options:
            raise LegatoError(f"the backend '{self.name}' has no options, found {', '.join(options)}; it would name them in its field "
                              "'options'")
        for name in options:
            if name not in self.options:
                raise LegatoError(f"the backend '{self.name}' has no option '{name}'{nearest(name, self.options)}")

    def composites(self) -> tuple[Composite, ...]:
        """The patterns. LegatoError if one is not a pattern, or two have the same name."""
        return as_composites(self.patterns, f"the backend '{self.name}'")

    def __repr__(self) -> str:
        return f"<backend {self.name}>"


GivenBackend = Backend | type[Backend] | str  # a value, a class without arguments, or a name


def as_backend(given: Any) -> Backend:
    """The backend for a value, or for a class whose ``__init__`` needs no arguments. LegatoError for anything else, and for one whose
    fields are not what ``Backend`` says."""
    backend = _made(given) if isinstance(given, type) and issubclass(given, Backend) else given
    if not isinstance(backend, Backend):
        raise LegatoError(f"a backend is a subclass of legato.Backend or a value of one, or the name of one; found {given!r}")
    if not isinstance(backend.name, str) or not NAME.fullmatch(backend.name):
        name = f"'{backend.name}'" if isinstance(backend.name, str) else repr(backend.name)
        raise LegatoError(f"the backend {type(backend).__name__} has the name {name}: expected letters, digits and '_'")
    who = f"the backend '{backend.name}'"
    check_classes(backend.passes, f"{who}: passes", "(MyPass,)", lambda one: callable(getattr(one, "run", None)))
    check_classes(backend.dialects, f"{who}: dialects", "(MyDialect,)", lambda one: issubclass(one, ext.Dialect))
    requires = backend.requires
    if not isinstance(requires, list | tuple) or not all(isinstance(one, str) and one for one in requires):
        raise LegatoError(f"{who}: requires has names of packages, such as requires = ('numpy',); found {requires!r}")
    if not isinstance(backend.options, list | tuple) or not all(isinstance(one, str) and one for one in backend.options):
        raise LegatoError(f"{who}: options has names of options, such as options = ('tile',); found {backend.options!r}")
    if not isinstance(backend.min_ops, int) or isinstance(backend.min_ops, bool) or backend.min_ops < 1:
        raise LegatoError(f"{who}: min_ops is the fewest ops of a group, 1 or more; found {backend.min_ops!r}")
    _check_composites(backend, who)
    return backend


def _made(kind: type[Backend]) -> Backend:
    try:
        return kind()
    except LegatoError:
        raise
    except Exception as error:
        raise blamed(error, f"the backend {kind.__name__} is given as a class, which is called without arguments, and its __init__",
                     kind.__init__) from error


def _check_composites(backend: Backend, who: str) -> None:
    try:
        found = backend.composites()
    except LegatoError as error:
        raise prefixed(error, who) from error
    except Exception as error:
        raise blamed(error, f"{who}: its composites", backend.composites) from error
    if not isinstance(found, list | tuple) or not all(isinstance(one, Composite) for one in found):
        raise LegatoError(f"{who}: composites returns patterns, made by composite(name, pattern, check); found {found!r}")
