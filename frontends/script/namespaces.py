"""The namespaces that scripts import, ``T``, ``R`` and ``I``, and which of their words are values in Python.

All other words have a meaning in scripts only, defined by the parsers' tables (``kernel/vocabulary.py`` for the functions of ``T``,
``tvm/`` and relax's ops for ``R``).
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.frontends.script import compute, compute_expressions
from legato.frontends.script.decorators import ir_module, macro, no_python, prim_func, relax_function
from legato.frontends.script.functions import PrimFunc, RelaxFunc
from legato.frontends.script.kernel.python_calls import call_word
from legato.frontends.script.language.annotations import BufferWord, HandleWord, shape_info, tensor, tuple_info
from legato.frontends.script.language.functions import Macro
from legato.frontends.script.language.types import DTYPES, ScalarType
from legato.frontends.script.language.words import Namespace

Made = TypeVar("Made", covariant=True)


class ScriptDecorator(Protocol[Made]):
    """A decorator for type checkers, used alone, ``@T.prim_func``, or with options, ``@T.prim_func(private=True)``."""

    @overload
    def __call__(self, function: Callable[..., object], /) -> Made: ...
    @overload
    def __call__(self, **options: bool) -> Callable[[Callable[..., object]], Made]: ...


class KernelNamespace(Namespace):
    """``T``, with the types of its decorators; all other words are known to the parsers only."""

    prim_func: ScriptDecorator[PrimFunc]
    macro: ScriptDecorator[Macro]
    inline: ScriptDecorator[Macro]


class GraphNamespace(Namespace):
    """``R``, with the types of its decorators."""

    function: ScriptDecorator[RelaxFunc]
    func: ScriptDecorator[RelaxFunc]


class ModuleNamespace(Namespace):
    """``I``, with the type of its decorator."""

    ir_module: ScriptDecorator[Module]


class ScalarWord(ScalarType):
    """``T.int32``: a type in an annotation; a call, as ``T.int64(128)``, gives the number."""

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        if len(arguments) == 1 and isinstance(arguments[0], (int, float)):
            return float(arguments[0]) if self.dtype.startswith(("float", "bfloat")) else int(arguments[0])
        found = call_kernel_word(self.dtype, arguments, {})
        if found is None:
            raise LegatoError(f"T.{self.dtype}(...) has a meaning inside of a script only")
        return found[0]


def nothing(*_: Any, **__: Any) -> None:
    """A word of TVM that is ignored."""


def call_kernel_word(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any] | None:
    """``T.<word>(...)`` in Python: on values of a kernel that is being parsed, or on expressions of a ``T.compute``."""
    found = call_word(word, arguments, keywords)
    return compute_expressions.call_word(word, arguments, keywords) if found is None else found


def call_graph_word(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any] | None:
    """``R.extern("name")`` in Python: the name of a packed function in a graph."""
    name = arguments[0] if len(arguments) == 1 else None
    return (name,) if word in ("extern", "ExternFunc") and isinstance(name, str) else None


def kernel_words() -> list[str]:
    """The words of kernels that the parser's tables hold."""
    from legato.frontends.script.kernel import axes, loops, scopes, statements
    from legato.frontends.script.kernel.vocabulary import FUNCTIONS

    named = ["grid", "match_buffer", "axis.remap", *(f"axis.{kind}" for kind in axes.KINDS)]
    return [*named, *FUNCTIONS, *loops.KINDS, *scopes.BLOCKS, *scopes.SCOPES, *statements.WORDS]


def graph_words() -> list[str]:
    """The words of graphs that the parser's tables hold, and relax's ops."""
    from legato.dialects import relax
    from legato.frontends.script.graph import ops, words

    return ["dataflow", "output", "func_attr", *words.WORDS, *ops.TVM, *(name for name in relax.OPS if name != "constant")]


def no_call(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """A word that Python cannot call."""


BUFFER = BufferWord()
T = KernelNamespace("T", "Kernels: prim_func, Buffer, grid, block, axis, ...", {
    "prim_func": prim_func, "macro": macro, "inline": macro, "Buffer": BUFFER, "buffer_decl": BUFFER, "handle": HandleWord(),
    **{dtype: ScalarWord(dtype) for dtype in DTYPES},
    "placeholder": compute.placeholder, "reduce_axis": compute_expressions.reduce_axis, "compute": compute.compute,
    "sum": compute_expressions.sum,
    "product": compute_expressions.product, "max_over": compute_expressions.max_over, "min_over": compute_expressions.min_over,
    "create_prim_func": compute.create_prim_func, "apply": compute_expressions.apply,
}, call_kernel_word, kernel_words)
R = GraphNamespace("R", "Graphs: function, Tensor, call_tir, dataflow, nn, ...", {
    "function": relax_function, "func": relax_function, "Tensor": tensor, "Shape": shape_info, "Tuple": tuple_info,
    "Prim": nothing, "Object": nothing, "Any": nothing, "py_module": no_python,
}, call_graph_word, graph_words)
I = ModuleNamespace("I", "Modules: ir_module", {
    "ir_module": ir_module, "module_attrs": nothing, "module_global_infos": nothing, "dummy_global_info": nothing, "vdevice": nothing,
    "pyfunc": no_python,
}, no_call, tuple)
