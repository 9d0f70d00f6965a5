"""What scripts import: ``T``, ``R`` and ``I``. Annotations and decorators are real; other words have a meaning inside a script only."""

import inspect
from collections.abc import Callable
from typing import Any

from ...dialects.errors import LegatoError
from .types import DTYPES, BufferType, HandleType, ScalarType, ShapeInfo, TensorInfo, TupleInfo


class Face:
    """A namespace of the script language. ``name``: how TVM's people call it."""

    def __init__(self, name: str, doc: str):
        self._name = name
        self.__doc__ = doc

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        if self._name == "T" and attribute in COMPUTE:
            from . import compute

            return getattr(compute, attribute)
        return OnlyInScript(f"{self._name}.{attribute}")

    def __repr__(self) -> str:
        return f"<the script language's {self._name}>"


class OnlyInScript:
    """A word of the script language, outside of a script."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LegatoError(f"{self.name}(...) has a meaning inside of a script only: in a function under @T.prim_func or @R.function, or "
                          "in a class under @I.ir_module")

    def __getattr__(self, attribute: str) -> "OnlyInScript":
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return OnlyInScript(f"{self.name}.{attribute}")


class ScalarWord(ScalarType):
    """``T.int32``: a type in an annotation; called, it is a word of the script."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LegatoError(f"T.{self.dtype}(...) has a meaning inside of a script only")


def in_class(function: Callable) -> bool:
    """Whether a function stands in the body of a class, whose decorator will parse it."""
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def buffer(shape: Any = (), dtype: Any = "float32", *, scope: str = "global", **layout: Any) -> BufferType:
    """``T.Buffer((n, 128), "float32")``."""
    if any(v is not None for k, v in layout.items() if k not in ("align", "offset_factor")):
        raise LegatoError(f"T.Buffer: {', '.join(layout)} is not supported: buffers lie in memory row by row, without gaps")
    dtype = dtype.dtype if isinstance(dtype, ScalarType) else dtype
    return BufferType(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), dtype, scope)


class _BufferWord:
    """``T.Buffer(...)`` and the older ``T.Buffer[(128, 128), "float32"]``."""

    def __call__(self, *args: Any, **kwargs: Any) -> BufferType:
        return buffer(*args, **kwargs)

    def __getitem__(self, arguments: Any) -> BufferType:
        if isinstance(arguments, tuple) and len(arguments) == 2 and isinstance(arguments[1], str):
            return buffer(*arguments)
        return buffer(arguments)


class _HandleWord(HandleType):
    def __call__(self, *_: Any, **__: Any) -> HandleType:
        return self


def tensor(shape: Any = None, dtype: Any = None, ndim: int = -1, vdevice: Any = None) -> TensorInfo:
    """``R.Tensor((n, 128), "float32")``, ``R.Tensor("float32", ndim=2)``."""
    if isinstance(shape, str):
        shape, dtype = None, shape
    dtype = dtype.dtype if isinstance(dtype, ScalarType) else dtype
    return TensorInfo(tuple(shape) if shape is not None else None, dtype, ndim if shape is None else len(shape))


def prim_func(function: Callable | None = None, *, private: bool = False, check_well_formed: bool = True, **_: Any) -> Any:
    """A kernel written as a Python function: ``@T.prim_func``. See docs/tir.md."""
    from .functions import PrimFunc

    if function is None:
        return lambda f: prim_func(f, private=private)
    made = PrimFunc(function, inspect.currentframe().f_back.f_locals if not in_class(function) else {})
    return made if in_class(function) else made.checked()


def relax_function(function: Callable | None = None, *, pure: bool = True, private: bool = False, **_: Any) -> Any:
    """A graph written as a Python function: ``@R.function``."""
    from .functions import RelaxFunc

    if function is None:
        return lambda f: relax_function(f, pure=pure, private=private)
    made = RelaxFunc(function, private, inspect.currentframe().f_back.f_locals if not in_class(function) else {})
    return made if in_class(function) else made.checked()


def macro(function: Callable | None = None, *, hygienic: bool = True) -> Any:
    """Statements to be put in the place of each call: ``@T.macro``."""
    from .functions import Macro

    return Macro(function) if function is not None else lambda f: Macro(f)


def ir_module(cls: type | None = None, **_: Any) -> Any:
    """A module of kernels and graphs, written as a class: ``@I.ir_module``. Gives a ``legato.Module``."""
    from .functions import module_of_class

    return (lambda c: module_of_class(c)) if cls is None else module_of_class(cls)


T = Face("T", "Kernels: prim_func, Buffer, grid, block, axis, ...")
T.prim_func, T.macro, T.Buffer, T.handle = prim_func, macro, _BufferWord(), _HandleWord()
COMPUTE = ("placeholder", "reduce_axis", "compute", "sum", "product", "max_over", "min_over", "create_prim_func", "apply")
for _dtype in DTYPES:
    setattr(T, _dtype, ScalarWord(_dtype))
R = Face("R", "Graphs: function, Tensor, call_tir, dataflow, nn, ...")
R.function = R.func = relax_function
R.Tensor, R.Shape = tensor, lambda sizes=(), ndim=-1: ShapeInfo(tuple(sizes))
R.Tuple = lambda *fields: TupleInfo(tuple(fields[0]) if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields)
R.Prim = R.Object = R.Any = lambda *_, **__: None
I = Face("I", "Modules: ir_module")
I.ir_module = ir_module
FACES = (T, R, I)
