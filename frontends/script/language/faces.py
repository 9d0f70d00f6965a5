"""What scripts import: ``T``, ``R`` and ``I``. Annotations and decorators are real; other words have a meaning inside a script only."""

import ast
import inspect
import math
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any

from legato.core.errors import LegatoError
from legato.frontends.script.language.types import DTYPES, BufferType, HandleType, ScalarType, ShapeInfo, TensorInfo, TupleInfo

MOST_DIMENSIONS = 64  # that a tensor of which the rank alone is said may have


class Face:
    """A namespace of the script language. ``name``: how TVM's people call it."""

    def __init__(self, name: str, doc: str):
        self._name = name
        self.__doc__ = doc

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        if self._name == "T" and attribute in COMPUTE:
            from legato.frontends.script import compute

            return getattr(compute, attribute)
        return OnlyInScript(f"{self._name}.{attribute}")

    def __repr__(self) -> str:
        return f"<the script language's {self._name}>"


class OnlyInScript:
    """A word of the script language, outside of a script."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from legato.frontends.script.kernel.operators import call_word

        face, _, word = self.name.partition(".")
        if face == "R" and word in ("extern", "ExternFunc") and len(arguments) == 1 and isinstance(arguments[0], str):
            return arguments[0]  # in a script, too, a packed function is known by its name
        found = call_word(word, arguments, keywords) if face == "T" else None
        if found is None:
            raise LegatoError(f"{self.name}(...) has a meaning inside of a script only: in a function under @T.prim_func or @R.function, "
                              "or in a class under @I.ir_module")
        return found[0]

    def __getattr__(self, attribute: str) -> "OnlyInScript":
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return OnlyInScript(f"{self.name}.{attribute}")


class ScalarWord(ScalarType):
    """``T.int32``: a type in an annotation; called on a number, that number, as sizes are written: ``T.int64(128)``."""

    def __call__(self, *arguments: Any, **__: Any) -> Any:
        from legato.frontends.script.kernel.operators import call_word

        if len(arguments) == 1 and isinstance(arguments[0], (int, float)):
            return float(arguments[0]) if self.dtype.startswith(("float", "bfloat")) else int(arguments[0])
        found = call_word(self.dtype, arguments, {})
        if found is None:
            raise LegatoError(f"T.{self.dtype}(...) has a meaning inside of a script only")
        return found[0]


def in_class(function: Callable) -> bool:
    """Whether a function stands in the body of a class, whose decorator will parse it."""
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def buffer(shape: Any = (), dtype: Any = "float32", data: Any = None, strides: Any = None, elem_offset: Any = None,
           scope: str = "global", align: Any = None, offset_factor: Any = None, buffer_type: Any = None,
           axis_separators: Any = None) -> BufferType:
    """``T.Buffer((n, 128), "float32")``. ``strides`` can only be those of rows without gaps; what is said of alignment changes no value."""
    del align, offset_factor, buffer_type, axis_separators
    dtype = dtype.dtype if isinstance(dtype, ScalarType) else dtype
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if data is not None or elem_offset not in (None, 0):
        raise LegatoError("T.Buffer: a parameter is memory of its own: data and elem_offset say nothing here")
    for axis, stride in enumerate(strides or ()):
        behind = shape[axis + 1:]
        if all(isinstance(s, int) for s in (stride, *behind)) and stride != math.prod(behind):
            raise LegatoError(f"T.Buffer: the stride {stride} of dimension {axis}: buffers lie in memory row by row, without gaps, so that "
                              f"it is {math.prod(behind)}")
    return BufferType(shape, dtype, scope)


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


def tensor(shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1) -> TensorInfo:
    """``R.Tensor((n, 128), "float32")``, ``R.Tensor("float32", ndim=2)``."""
    if isinstance(shape, str) and shape in DTYPES:
        shape, dtype, vdevice = None, shape, dtype if vdevice is None else vdevice
    if vdevice is not None:
        raise LegatoError(f"R.Tensor: the device {vdevice!r}: a module is compiled for one target, legato.compile(module, target=...)")
    if shape is not None and not isinstance(shape, (tuple, list, ShapeInfo)):
        raise LegatoError(f"R.Tensor takes a shape, a tuple of sizes, and a type of elements; not {shape!r}")
    if isinstance(shape, ShapeInfo):
        shape = shape.sizes
    dtype = dtype.dtype if isinstance(dtype, ScalarType) else dtype
    if not isinstance(ndim, int) or not -1 <= ndim <= MOST_DIMENSIONS:
        raise LegatoError(f"R.Tensor: ndim={ndim!r}: a tensor has 0 to {MOST_DIMENSIONS} dimensions")
    if shape is not None and ndim not in (-1, len(shape)):
        raise LegatoError(f"R.Tensor: {len(shape)} sizes, and ndim={ndim}")
    return TensorInfo(tuple(shape) if shape is not None else None, dtype, ndim if shape is None else len(shape))


def shape_info(sizes: Any = None, ndim: int = -1) -> ShapeInfo:
    """``R.Shape(["n", 4])``."""
    if sizes is None:
        return ShapeInfo(None, ndim)
    return ShapeInfo(tuple(sizes), len(sizes))


def prim_func(function: Callable | None = None, *, private: bool = False, check_well_formed: bool = True, s_tir: bool = True,
              tirx: bool = False) -> Any:
    """A kernel written as a Python function: ``@T.prim_func``. See docs/script.md.

    The options are TVM's, and change nothing here: a kernel is private by itself, and always checked.
    """
    del private, check_well_formed, s_tir, tirx
    names = _names_around()
    return _made(function, "T.prim_func", lambda f: _prim_func(f, names))


def _prim_func(function: Callable, names: dict[str, Any]) -> Any:
    from legato.frontends.script.language.functions import PrimFunc

    made = PrimFunc(function, names if not in_class(function) else {})
    return made if in_class(function) else made.checked()


def relax_function(function: Callable | None = None, *, pure: bool = True, private: bool = False, check_well_formed: bool = True) -> Any:
    """A graph written as a Python function: ``@R.function``. ``private``: no function that is called from outside."""
    del pure, check_well_formed
    names = _names_around()
    return _made(function, "R.function", lambda f: _relax_function(f, private, names))


def _relax_function(function: Callable, private: bool, names: dict[str, Any]) -> Any:
    from legato.frontends.script.language.functions import RelaxFunc

    made = RelaxFunc(function, private, names if not in_class(function) else {})
    return made if in_class(function) else made.checked()


def macro(function: Callable | None = None, *, hygienic: bool = True) -> Any:
    """Statements to be put in the place of each call: ``@T.macro``. ``hygienic``: its free names are those of its own place."""
    from legato.frontends.script.language.functions import Macro

    names = _names_around()
    return _made(function, "T.macro", lambda f: Macro(f, hygienic, names))


def ir_module(cls: type | None = None, *, check_well_formed: bool = True, **_: Any) -> Any:
    """A module of kernels and graphs, written as a class: ``@I.ir_module``. Gives a ``legato.Module``."""
    from legato.frontends.script.language.functions import module_of_class

    if cls is not None and not isinstance(cls, type):
        raise LegatoError("I.ir_module decorates a class")
    return module_of_class if cls is None else module_of_class(cls)


def no_python(function: Any = None, **_: Any) -> Any:
    """``@I.pyfunc``, ``@R.py_module``: refused."""
    del function
    raise LegatoError("Python functions in a module (@I.pyfunc, @R.py_module): register the function, by "
                      "tvm_ffi.register_global_func(name, f), and call it from a graph by R.call_dps_packed(name, ...)")


def _names_around() -> dict[str, Any]:
    """The variables of the function from which a decorator is called, at this time."""
    return dict(inspect.currentframe().f_back.f_back.f_locals)


def _made(function: Any, decorator: str, make: Callable[[Callable], Any]) -> Any:
    """What a decorator gives, with and without arguments."""
    if function is None:
        return make
    if not inspect.isfunction(function):
        raise LegatoError(f"{decorator} decorates a function, and its arguments are given by name")
    return make(function)


T = Face("T", "Kernels: prim_func, Buffer, grid, block, axis, ...")
T.prim_func, T.macro, T.inline, T.Buffer, T.handle = prim_func, macro, macro, _BufferWord(), _HandleWord()
T.buffer_decl = T.Buffer
COMPUTE = ("placeholder", "reduce_axis", "compute", "sum", "product", "max_over", "min_over", "create_prim_func", "apply")
for _dtype in DTYPES:
    setattr(T, _dtype, ScalarWord(_dtype))
R = Face("R", "Graphs: function, Tensor, call_tir, dataflow, nn, ...")
R.function = R.func = relax_function
R.Tensor, R.Shape = tensor, shape_info
R.Tuple = lambda *fields: TupleInfo(tuple(fields[0]) if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields)
R.Prim = R.Object = R.Any = lambda *_, **__: None
I = Face("I", "Modules: ir_module")
I.ir_module = ir_module
I.module_attrs = I.module_global_infos = lambda *_, **__: None
I.pyfunc = R.py_module = no_python
I.dummy_global_info = I.vdevice = lambda *_, **__: None
FACES = (T, R, I)


def word_path(node: ast.AST, names: Mapping[str, Any], scope: Collection[str]) -> list[str] | None:
    """What an expression is, or calls, in the script's words: ``["R", "nn", "relu"]``; None for what is none.

    ``names``: what was captured; ``scope``: names that have another meaning now.
    """
    if isinstance(node, ast.Call):
        node = node.func
    path = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in scope:
        return None
    found = names.get(node.id)
    while isinstance(found, ModuleType) and path:  # legato.script.tir.grid
        found = getattr(found, path.pop(), None)
    if isinstance(found, Face):
        return [found._name, *reversed(path)]
    if isinstance(found, OnlyInScript):  # from legato.script.tir import grid
        return [*found.name.split("."), *reversed(path)]
    return None
