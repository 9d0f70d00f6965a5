"""The base of graph ops: a class declares operands, attributes, result types and numpy semantics.

    class Softmax(RelaxOp, name="softmax"):
        '''Summary line.

        ```mlir
        %y = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        ```
        '''
        x = Operand(FLOAT)
        axis = Int(-1)

        @staticmethod
        def result_type(x, axis): ...       # TensorTypes and Python values in, TensorType(s) out; raises InferenceError
        @staticmethod
        def compute(x, axis): ...           # numpy arrays and Python values in, array(s) out

Derived from it: the builder (``Softmax.build``), ``infer``, ``semantics``, the verifier, accessors (``op.x``, ``op.axis``), the
documentation.
"""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from legato.core import dtypes
from legato.core.errors import ElementTypeError, InferenceError, LegatoError, StaticSizeError
from legato.core.locations import model_name
from legato.core.mlir import ext, ir
from legato.core.user_code import blamed, source_of
from legato.dialects.relax.attributes import REQUIRED, Attribute
from legato.dialects.relax.declarations import check_kinds, check_members, check_op, check_returned
from legato.dialects.relax.dialect import Relax
from legato.dialects.relax.dims import UNKNOWN, Dim, compatible
from legato.dialects.relax.types import TensorType, checked_bytes

FLOAT = frozenset({"float"})
INTEGER = frozenset({"int", "uint"})
NUMBER = FLOAT | INTEGER
BOOL = frozenset({"bool"})
ANY = NUMBER | BOOL
MOVED = ANY | {"narrow"}   # what ops that only move elements take, and conversions

# The numpy semantics of all graph ops, by full op name. Looked up at each use.
SEMANTICS: dict[str, Callable] = {}


class Operand:
    """One operand in the declaration of an op, and the kinds of elements it accepts.

    All operands of an op have the same element type, except those with ``own_dtype``.
    """

    def __init__(self, kinds: frozenset = ANY, doc: str = "", own_dtype: bool = False) -> None:
        check_kinds(kinds)
        self.kinds, self.doc, self.own_dtype = kinds, doc, own_dtype
        self.name, self.index = "", 0

    def __get__(self, op, owner=None):
        return self if op is None else op.operation.operands[self.index]


def _sizes_unknown(type_: ir.Type) -> ir.Type:
    """The type with all symbolic sizes unknown."""
    tensor = TensorType.of(type_)
    return tensor.with_dims(size if isinstance(size, int) else UNKNOWN for size in tensor.dims).ir()


class GraphOp:
    """Members of every graph op class; ``graph_op(dialect)`` copies them to a dialect's op class, since the bindings' classes take
    a single base."""

    OPERATION_NAME: ClassVar[str]
    OPERANDS: ClassVar[tuple[Operand, ...]] = ()
    ATTRIBUTES: ClassVar[dict[str, Attribute]] = {}
    RESULTS: ClassVar[tuple[str, ...]] = ("result",)
    # f16 and bf16 are computed in f32 and rounded once. False for ops that only move elements.
    PROMOTES: ClassVar[bool] = True
    # Its result's type names sizes that only its data says: it stays, though nothing may read its elements.
    DEFINES_SIZES: ClassVar[bool] = False
    # Each element of the result depends only on the operands' elements at the same index, after broadcasting.
    ELEMENTWISE: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        """``name``: the op's, without the dialect's prefix; None for a base of several ops."""
        super().__init_subclass__(**kwargs)

    @staticmethod
    def result_type(*args: Any, **attrs: Any) -> Any:
        """The result's TensorType (several: a sequence), from the operands' TensorTypes and all attributes. Raises InferenceError."""
        raise NotImplementedError

    @staticmethod
    def compute(*args: Any, **attrs: Any) -> Any:
        """The result (several: a tuple) as numpy arrays, from the operands' arrays and all attributes."""
        raise NotImplementedError

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: Mapping[str, Any]) -> list[ir.Type]:
        """The result types for operand types and attributes (Python values; missing ones take their defaults).

        InferenceError, naming the operand or attribute, if they do not fit together.
        """
        return [t.ir() for t in cls._results(types, cls.with_defaults(attrs))]

    @classmethod
    def semantics(cls, *arrays: np.ndarray, **attrs: Any):
        """The op's result on numpy arrays, or a tuple if it has several.

        Symbols in attributes must have been replaced by numbers. LegatoError for an index out of range.
        """
        attrs = cls.with_defaults(attrs)
        small = next((a.dtype for a in arrays if a.dtype in _SMALL_FLOATS), None) if cls.PROMOTES else None
        if small is not None:
            arrays = tuple(a.astype(np.float32) if a.dtype in _SMALL_FLOATS else a for a in arrays)
        with np.errstate(all="ignore"):
            results = cls._computed(arrays, attrs)
            results = list(results) if isinstance(results, tuple) else [results]
            if small is not None:
                results = [np.asarray(r, small) if r.dtype == np.float32 else r for r in results]
        return tuple(map(np.asarray, results)) if len(results) > 1 else np.asarray(results[0])

    @classmethod
    def _computed(cls, arrays: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> Any:
        """What ``compute`` returns. An exception that is not about the values (a ValueError) is a LegatoError that names it."""
        function = SEMANTICS[cls.OPERATION_NAME]
        try:
            found = function(*arrays, **attrs)
            check_returned(found, f"compute of {cls.OPERATION_NAME}", function)
            return found
        except (ArithmeticError, LegatoError, MemoryError, RuntimeError, ValueError):
            raise
        except Exception as error:
            raise blamed(error, f"compute of {cls.OPERATION_NAME}", function) from error

    @classmethod
    def build(cls, *args: Any, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None, **kwargs: Any):
        """Creates the op at the insertion point and returns its result, or a tuple of results.

        LegatoError, with the op's location and operand types, if operands and attributes do not fit together.
        """
        names = [o.name for o in cls.OPERANDS] + list(cls.ATTRIBUTES)
        if len(args) > len(names):
            raise LegatoError(f"{cls.OPERATION_NAME} takes at most {len(names)} arguments ({', '.join(names)}), {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in given or name not in names:
                raise LegatoError(f"{cls.OPERATION_NAME}: " + (f"'{name}' is given twice" if name in given else _unknown(name, names)))
            given[name] = value
        values = []
        try:
            for operand in cls.OPERANDS:
                value = given.pop(operand.name, None)
                value = value.result if isinstance(value, (ir.OpView, ir.Operation)) else value
                if not isinstance(value, ir.Value):
                    raise InferenceError(f"operand '{operand.name}' must be an ir.Value, found {value!r}")
                values.append(value)
            attrs, written = cls._from_python(given)
            result_types = [t.ir() for t in cls._results_built([v.type for v in values], attrs)]
        except LegatoError as error:
            raise LegatoError(cls._complaint(error, values, loc)) from error
        op = ir.Operation.create(cls.OPERATION_NAME, results=result_types, operands=values, attributes=written, loc=loc, ip=ip)
        results = op.results
        return results[0] if len(result_types) == 1 else tuple(results)

    def attrs(self) -> dict[str, Any]:
        """All attributes as Python values, with defaults."""
        attributes, values = self.operation.attributes, {}
        for name, attribute in type(self).ATTRIBUTES.items():
            try:
                values[name] = attribute.read(attributes[name]) if name in attributes else attribute.default
            except TypeError as error:     # the bindings have no class for it, such as array<ui8: 1>
                raise InferenceError(f"attribute '{name}' must be {attribute.expects}: {error}") from error
        return values

    def verify_invariants(self) -> bool:
        """The bindings' verifier hook. It runs before IRDL's own checks, so it checks arity and attributes itself."""
        try:
            self._verify()
        except LegatoError as error:
            self.operation.location.emit_error(f"'{type(self).OPERATION_NAME}' op {error}")
            return False
        return True

    def _verify(self) -> None:
        cls, operation = type(self), self.operation
        for what, declared, found in (("operand", cls.OPERANDS, operation.operands), ("result", cls.RESULTS, operation.results)):
            if len(declared) != len(found):
                raise InferenceError(f"expects {len(declared)} {what}{'' if len(declared) == 1 else 's'}, has {len(found)}")
        for name in operation.attributes:
            if name not in cls.ATTRIBUTES and "." not in name:
                raise InferenceError(_unknown(name, list(cls.ATTRIBUTES)))
        for name, attribute in cls.ATTRIBUTES.items():
            if attribute.default is REQUIRED and name not in operation.attributes:
                raise InferenceError(f"needs attribute '{name}': {attribute.expects}")
        results = cls.checked_results(operation, self.attrs())
        for name, inferred, declared in zip(cls.RESULTS, results, (r.type for r in operation.results)):
            found = TensorType.of(declared)
            if inferred.dtype != found.dtype or inferred.rank != found.rank or not all(map(compatible, inferred.dims, found.dims)):
                with operation.context:
                    raise InferenceError(f"{name} is declared {declared}, but its operands make {inferred.ir()}")

    @classmethod
    def checked_results(cls, operation: ir.Operation, attrs: Mapping[str, Any]) -> list[TensorType]:
        """The result types that the verifier compares the declared ones with."""
        return cls._results([v.type for v in operation.operands], attrs)

    @classmethod
    def _results_built(cls, types: Sequence[ir.Type], attrs: Mapping[str, Any]) -> list[TensorType]:
        """The result types for a builder. If they cannot be inferred, its error tells whether other sizes at run time could fit."""
        try:
            return cls._results(types, attrs)
        except StaticSizeError:
            raise
        except InferenceError as error:
            if not any(isinstance(size, Dim) for value in attrs.values() if isinstance(value, (list, tuple)) for size in value):
                try:
                    cls._results([_sizes_unknown(type_) for type_ in types], attrs)
                except StaticSizeError:
                    pass
                except InferenceError:
                    error.for_any_sizes = True
            raise

    @classmethod
    def _results(cls, types: Sequence[ir.Type], attrs: Mapping[str, Any]) -> list[TensorType]:
        """Checks the operands' element types, then calls ``result_type``."""
        tensors, shared = [], None
        for operand, ir_type in zip(cls.OPERANDS, types, strict=True):
            try:
                tensor = TensorType.of(ir_type)
            except LegatoError as error:
                raise InferenceError(f"operand '{operand.name}': {error}") from error
            if dtypes.kind(tensor.dtype) not in operand.kinds:
                wanted = " or ".join(k for k in ("float", "int", "uint", "bool", "narrow") if k in operand.kinds)
                raise ElementTypeError(f"operand '{operand.name}' must have {wanted} elements, has {dtypes.spelling(tensor.dtype)}")
            if not operand.own_dtype:
                shared = shared or (operand.name, tensor.dtype)
                if shared[1] != tensor.dtype:
                    raise ElementTypeError(
                        f"operands '{shared[0]}' and '{operand.name}' must have one element type, "
                        f"have {dtypes.spelling(shared[1])} and {dtypes.spelling(tensor.dtype)}"
                    )
            tensors.append(tensor)
        try:
            results = cls.result_type(*tensors, **attrs)
            check_returned(results, f"result_type of {cls.OPERATION_NAME}", cls.result_type)
            results = [results] if isinstance(results, TensorType) else list(results)
            if strange := [one for one in results if not isinstance(one, TensorType)]:
                raise LegatoError(f"result_type of {cls.OPERATION_NAME} ({source_of(cls.result_type)}) returns a TensorType for each "
                                  f"result; it returned {strange[0]!r}")
        except LegatoError:
            raise
        except Exception as error:
            raise blamed(error, f"result_type of {cls.OPERATION_NAME}", cls.result_type) from error
        return checked_bytes(results)

    @classmethod
    def with_defaults(cls, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """All attributes as plain values, from those given. InferenceError for an unknown, missing or invalid one."""
        for name in attrs:
            if name not in cls.ATTRIBUTES:
                raise InferenceError(_unknown(name, list(cls.ATTRIBUTES)))
        return cls._from_python(attrs, write=False)[0]

    @classmethod
    def _from_python(cls, given: Mapping[str, Any], write: bool = True) -> tuple[dict[str, Any], dict[str, ir.Attribute]]:
        """All attributes as plain values, and those that differ from their defaults as MLIR attributes."""
        attrs, written = {}, {}
        for name, attribute in cls.ATTRIBUTES.items():
            value = given.get(name, attribute.default)
            if value is REQUIRED:
                raise InferenceError(f"needs attribute '{name}': {attribute.expects}")
            if value is not None or attribute.default is REQUIRED:
                try:
                    value = attribute.normalize(value)
                except (TypeError, ValueError, LegatoError) as error:
                    why = f": {error}" if isinstance(error, LegatoError) else ""
                    raise InferenceError(f"attribute '{name}' must be {attribute.expects}, found {value!r}{why}") from error
                if write and (attribute.default is None or attribute.default is REQUIRED or value != attribute.default):
                    written[name] = attribute.write(value)
            elif attribute.default is not None:
                raise InferenceError(f"attribute '{name}' must be {attribute.expects}, found None")
            attrs[name] = value
        return attrs, written

    @classmethod
    def _complaint(cls, error: Exception, values: Sequence[ir.Value], loc: ir.Location | None) -> str:
        if loc is None:
            try:
                loc = ir.Location.current
            except ValueError:
                loc = None
        name = model_name(loc) if loc is not None else None
        operands = ", ".join(f"{o.name}: {v.type}" for o, v in zip(cls.OPERANDS, values))
        quoted = f' "{name}"' if name else ""
        return f"{cls.OPERATION_NAME}{quoted}: {error}" + (f" ({operands})" if operands else "")


_SMALL_FLOATS = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"has no attribute '{name}'" + (f"; did you mean '{near[0]}'?" if near else f"; it has: {', '.join(known) or 'none'}")


def graph_op(dialect: type[ext.Dialect]) -> type[GraphOp]:
    """The base class of a dialect's graph ops. ``dialect.OPS`` maps their names, without the dialect's prefix, to the classes."""
    if not (isinstance(dialect, type) and issubclass(dialect, ext.Dialect)):
        raise LegatoError(f"graph_op takes a dialect, class Acme(ext.Dialect, name=\"acme\"), found {dialect!r}")
    if "OPS" not in vars(dialect):   # each op of a user's may have a base of its own
        dialect.OPS = {}

    class Op(dialect.Operation):
        @classmethod
        def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
            _declare(cls)
            if name is None:
                cls.__annotations__ = {}
                return super().__init_subclass__(**kwargs)
            operands, attributes = cls.OPERANDS, cls.ATTRIBUTES
            check_op(cls, name, cls.RESULTS, dialect.OPS)
            cls.__annotations__ = {o.name: ext.Operand[Any] for o in operands} | {r: ext.Result[Any] for r in cls.RESULTS}
            super().__init_subclass__(name=name, traits=[] if cls.DEFINES_SIZES else [ext.Pure], **kwargs)
            for declared in (*operands, *attributes.values()):  # the bindings have replaced these by accessors of their own
                setattr(cls, declared.name, declared)
            SEMANTICS[cls.OPERATION_NAME] = cls.compute
            dialect.OPS[name] = cls

    for member, value in vars(GraphOp).items():
        if member not in ("__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__init_subclass__", "OPERATION_NAME"):
            setattr(Op, member, value)
    return Op


def _declare(cls: type) -> None:
    """Collects the operands and attributes that the class body declares, after those of its base."""
    operands, attributes = list(cls.OPERANDS), dict(cls.ATTRIBUTES)
    check_members(cls, (Operand, Attribute))
    for name, member in list(vars(cls).items()):
        if isinstance(member, Operand):
            member.name, member.index = name, len(operands)
            operands.append(member)
            delattr(cls, name)
        elif isinstance(member, Attribute):
            attributes[name] = member
    cls.OPERANDS, cls.ATTRIBUTES = tuple(operands), attributes


def signature(cls: type) -> inspect.Signature:
    """The builder's signature: operands, then attributes with their defaults."""
    kinds = inspect.Parameter
    required = [o.name for o in cls.OPERANDS] + [a.name for a in cls.ATTRIBUTES.values() if a.default is REQUIRED]
    optional = {a.name: a.default for a in cls.ATTRIBUTES.values() if a.default is not REQUIRED}
    parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in required]
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in {**optional, "loc": None, "ip": None}.items()]
    return inspect.Signature(parameters)


RelaxOp = graph_op(Relax)
