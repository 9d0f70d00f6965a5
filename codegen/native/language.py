"""What native functions are written with. They are ordinary annotated Python, compiled by compiler.py and never run.

A value is an ``int`` (64 bits, signed), a ``bool``, or a ``Pointer``. ``Int32``, in a signature or a struct, is C's ``int32_t``; it is
read as an ``int``. A function may assign to names, fields and elements; use ``if``, ``while``, ``for`` over ``range(...)`` and
``reversed(range(...))``, ``return``, integer arithmetic, comparisons, ``and``, ``or``, ``not``, conditional expressions, texts and
f-strings; and call other native functions, extern ones, and the functions at the end of this file. Numbers, tables and functions are
looked up in its Python module.

    class Pair(Struct):
        first: int
        second: Int32

    def total(pairs: Pair, count: int) -> int:
        result = 0
        for i in range(count):
            result += pairs[i].first + pairs[i].second
        return result

becomes ``func.func @legato.total(!llvm.ptr, i64) -> i64``. It differs from Python in two things: arithmetic wraps around, and a name that
is first assigned in a loop, or in one branch only, is not known behind it.

The same code serves all models. What a model has of its own, tables and functions (``ModelList``), is reached by the address of its list
of these. Functions that need it, themselves or by what they call, take it as a hidden first parameter. One that is called by its
address cannot: it begins with ``use_model(...)``, of what ``model()`` gave when the model was known."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin, get_type_hints

P = TypeVar("P", bound="Pointer")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Storage:
    """How an int is stored in a struct or passed: its MLIR type."""

    mlir: str


@dataclass(frozen=True)
class Inline:
    """A field that is memory inside the struct, for so many elements; its value is the memory's address."""

    count: int


Int32 = Annotated[int, Storage("i32")]


class Pointer(int):
    """An address. ``p + n`` is n bytes after it, ``Words(p)`` the same address as another kind of pointer, ``int(p)`` its number. A null
    pointer is false. Pointers compare as unsigned numbers.
    """

    symbol = ""      # of a table, or empty
    place = 0        # of a table, in the model's list
    size = 1         # bytes of an element

    def __add__(self, count: int) -> Self: ...
    def __sub__(self, count: int) -> Self: ...


class Text(Pointer):
    """Zero-terminated characters. An f-string is one too: on the stack, truncated to 2,047 bytes."""


class Words(Pointer):
    """Consecutive integers of 64 bits."""

    size = 8

    def __getitem__(self, index: int) -> int: ...
    def __setitem__(self, index: int, value: int) -> None: ...


class Struct(Pointer):
    """A struct in memory; a subclass declares the fields, in C's layout. ``p[i]`` is the one i structs after ``p``."""

    def __getitem__(self, index: int) -> Self: ...


@dataclass(frozen=True)
class Field:
    """A field of a struct. ``mlir``: the type that is loaded and stored; empty for inline memory. ``type``: how code sees the value."""

    offset: int
    type: type[int]
    mlir: str


@cache
def fields(struct: type[Struct]) -> dict[str, Field]:
    """The fields of a struct by name, in order."""
    found, end = {}, 0
    for name, hint in get_type_hints(struct, include_extras=True).items():
        type_ = plain(hint)
        inline = next((e.count for e in get_args(hint) if isinstance(e, Inline)), None)
        mlir = "" if inline is not None else mlir_type(hint)
        width = 4 if mlir == "i32" else 8
        offset = end + -end % width
        found[name] = Field(offset, type_, mlir)
        end = offset + (width if inline is None else inline * size_of(type_))
    return found


def size_of(pointer: type[Pointer]) -> int:
    """The bytes of what a pointer of a type points to."""
    if not issubclass(pointer, Struct):
        return pointer.size
    last = list(fields(pointer).values())[-1]
    end = last.offset + (4 if last.mlir == "i32" else 8 if last.mlir else 0)
    return end + -end % 8


@cache
def mlir_type(hint: Any) -> str:
    """The MLIR type of an annotation."""
    if get_origin(hint) is Annotated:
        return next(e.mlir for e in get_args(hint) if isinstance(e, Storage))
    return "!llvm.ptr" if issubclass(hint, Pointer) else "i1" if hint is bool else "i64"


def plain(hint: Any) -> type[int]:
    """An annotation as Python sees it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


class ModelList:
    """What models have of their own, in a list of addresses. ``places``: in the list, by symbol; ``functions``: those of it, by symbol."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.functions: dict[str, Callable[..., Any]] = {}

    def table(self, rows: type[P], symbol: str) -> P:
        """A global that a model may have, of that symbol, as a pointer to its first row."""
        pointer = rows(0)
        pointer.symbol, pointer.place = symbol, self._place(symbol)
        return pointer

    def function(self, symbol: str) -> Callable[[F], F]:
        """A function that a model may have, of that symbol: the declaration's body is ``...``."""
        def declare(function: F) -> F:
            MODEL_FUNCTIONS[function] = self._place(symbol)
            self.functions[symbol] = function
            return function

        return declare

    def _place(self, symbol: str) -> int:
        return self.places.setdefault(symbol, len(self.places))


MODEL_FUNCTIONS: dict[Callable[..., Any], int] = {}     # of all lists: the place
EXTERNS: dict[Callable[..., Any], str] = {}
EXPORTS: dict[Callable[..., Any], str] = {}
POINTED: set[Callable[..., Any]] = set()


def extern(symbol: str = "") -> Callable[[F], F]:
    """A function of C: the declaration's body is ``...``."""
    def declare(function: F) -> F:
        EXTERNS[function] = symbol or function.__name__
        return function

    return declare


def pointed(function: F) -> F:
    """A C function that is called by its address, the first operand: the declaration's body is ``...``."""
    POINTED.add(function)
    return function


def exported(symbol: str) -> Callable[[F], F]:
    """A native function that callers of the compiled code see under that symbol. All others are called ``legato.NAME``."""
    def declare(function: F) -> F:
        EXPORTS[function] = symbol
        return function

    return declare


# What the compiler knows by itself

def stack(pointer: type[P], count: int = 1) -> P:
    """Memory for so many elements on the stack, until the function ends. Not in loops."""
    ...


def address(place: Any) -> Words:
    """The address of a field or an element: ``address(pair.second)``."""
    ...


def code_of(function: Callable[..., Any]) -> Pointer:
    """The address of a native or extern function."""
    ...


def model() -> Words:
    """The address of the model's list."""
    ...


def use_model(model: Words) -> None:
    """Says which model this function works for: its first statement."""
    ...


def model_has(what: Any) -> bool:
    """Whether the model has a table or a function."""
    ...


def exchange(place: Words, value: P) -> P:
    """Stores a pointer and gives the one that was there, at once (acquire)."""
    ...


def store_if_null(place: Words, value: Pointer) -> bool:
    """Stores a pointer where none is, at once (release). Whether it was stored."""
    ...


def add_at(place: Words, count: int) -> int:
    """Adds to a number in memory, at once, in one order with all other threads' additions. The number that was there."""
    ...


def swap_at(place: Words, value: int) -> int:
    """Stores a number in memory, at once, likewise. The number that was there."""
    ...


def value_at(place: Words) -> int:
    """A number in memory that other threads write, in one order with all additions and stores at once."""
    ...


def pause() -> None:
    """Tells the core that the loop around waits for memory."""
    ...


def store_float_mode(place: Words) -> None:
    """Stores how this thread computes with floating point: rounding, denormal numbers, which exceptions are signals."""
    ...


def use_float_mode(place: Words) -> None:
    """Lets this thread compute as the one that stored its mode there."""
    ...


def run_part(code: Pointer, context: Words, first: int, end: int) -> None:
    """Calls the code at an address, which takes what follows."""
    ...


def tail_call(function: Callable[..., Any], *operands: int) -> None:
    """Calls a function of the same signature, and does not come back here: ``return tail_call(f, x)``."""
    ...


def double_bits(value: int) -> int:
    """The bits of a number as a float of 64 bits."""
    ...


def snprintf(to: Text, size: int, form: str | Text, *operands: int) -> int:
    """C's function: for an f-string, or a format with its operands."""
    ...
