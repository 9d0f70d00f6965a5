"""A native function while it is compiled, and what the functions of a module share. Part of compiler.py."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_type_hints

from legato.codegen.native.language import EXPORTS, EXTERNS, MODEL_FUNCTIONS, POINTED, Pointer, mlir_type, plain
from legato.codegen.native.reach import needs_model
from legato.core.errors import LegatoError

NAMESPACE = "legato."
MODEL = "%model"        # the hidden parameter: the address of the model's list
CONVERSIONS = {("i64", "i32"): "arith.trunci", ("i32", "i64"): "arith.extsi", ("i1", "i64"): "arith.extui",
               ("i64", "!llvm.ptr"): "llvm.inttoptr", ("!llvm.ptr", "i64"): "llvm.ptrtoint"}


@dataclass(frozen=True)
class NativeValue:
    """An SSA value, and its type in the language."""

    ssa: str
    type: type[int]

    @property
    def mlir(self) -> str:
        """The type in MLIR."""
        return mlir_type(self.type)


@dataclass
class NativeProgram:
    """The functions of a module: those that are still to be compiled, and what they declare."""

    pending: list[Callable[..., Any]] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)   # of globals and extern functions, by symbol
    _used: set[Callable[..., Any]] = field(default_factory=set)
    _texts: dict[str, str] = field(default_factory=dict)

    def use(self, function: Callable[..., Any]) -> str:
        """The symbol of a function, which will be in the module."""
        if function in EXTERNS:
            of = signature(function)
            return self.declare(EXTERNS[function], f"llvm.func @%s({of.types}){of.arrow}")
        if function not in self._used:
            self._used.add(function)
            self.pending.append(function)
        return symbol_of(function)

    def declare(self, symbol: str, text: str) -> str:
        """The symbol of a declaration. ``text``: what declares it, with ``%s`` for the symbol."""
        self.declarations[symbol] = text % symbol
        return symbol

    def text(self, text: str) -> str:
        """The symbol of a constant text."""
        if text not in self._texts:
            symbol = self._texts[text] = f"{NAMESPACE}string.{len(self._texts)}"
            self.declarations[symbol] = constant_text(symbol, text, "private")
        return self._texts[text]


def constant_text(symbol: str, text: str, linkage: str = "internal") -> str:
    """A global of the text and a terminating zero."""
    return bytes_text(symbol, text.encode() + b"\0", linkage)


def bytes_text(symbol: str, data: bytes, linkage: str = "internal", attributes: str = "") -> str:
    """A global of bytes. ``attributes``: of the op, in braces."""
    escaped = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in data)
    return f'llvm.mlir.global {linkage} constant @{symbol}("{escaped}") {attributes}'


def public_symbol(function: Callable[..., Any]) -> str:
    """The symbol by which a model's code calls a native function."""
    return EXPORTS.get(function, NAMESPACE + function.__name__)


def symbol_of(function: Callable[..., Any]) -> str:
    """The symbol of a native function: another one where it takes the model's list besides."""
    public, of_model = _symbols(function)
    return of_model if needs_model(function) else public


def has_symbol(function: Callable[..., Any], symbol: str) -> bool:
    """Whether it is the symbol of a native function, whose source is read only if it may be."""
    return symbol in _symbols(function) and symbol == symbol_of(function)


def _symbols(function: Callable[..., Any]) -> tuple[str, str]:
    """The symbols that a native function may have."""
    return public_symbol(function), f"{NAMESPACE}entry.{function.__name__}"


@dataclass(frozen=True)
class NativeParameter:
    """What a function takes, or returns: an MLIR type, and the type in the language."""

    mlir: str
    type: type[int]


@dataclass(frozen=True)
class NativeSignature:
    """A function's annotations. ``result``: None where nothing comes back."""

    parameters: Mapping[str, NativeParameter]
    result: NativeParameter | None

    @property
    def types(self) -> str:
        """The MLIR types of the parameters."""
        return ", ".join(p.mlir for p in self.parameters.values())

    @property
    def arrow(self) -> str:
        """The result as declarations write it."""
        return f" -> {self.result.mlir}" if self.result else ""

    @property
    def returned(self) -> str:
        """The result as types write it."""
        return self.result.mlir if self.result else "()"

    @property
    def function_type(self) -> str:
        """The type of the function."""
        return f"({self.types}) -> {self.returned}"


@cache
def signature(function: Callable[..., Any]) -> NativeSignature:
    """The signature of a native or extern function."""
    hints = get_type_hints(function, include_extras=True)
    found = {name: None if hint is type(None) else NativeParameter(mlir_type(hint), plain(hint)) for name, hint in hints.items()}
    result = found.pop("return")
    return NativeSignature({name: parameter for name, parameter in found.items() if parameter}, result)


class FunctionBody:
    """The lines of a function, and the values of its names at the place that is reached."""

    def __init__(self, program: NativeProgram, function: Callable[..., Any]):
        self.program, self.function, self.scope = program, function, function.__globals__
        self.signature = signature(function)
        self.lines: list[str] = []
        self.model = MODEL if needs_model(function) else ""      # the address of the model's list, where the function has it
        self.names: dict[str, NativeValue] = {}
        self.ended = False      # the block has its terminator
        self.loops = 0          # that are open
        self._count = 0

    def line(self, text: str) -> None:
        """An op."""
        self.lines.append("  " + text)

    def value(self, text: str, type_: type[int] = int) -> NativeValue:
        """An op with a result."""
        name = self.fresh("%")
        self.line(f"{name} = {text}")
        return NativeValue(name, type_)

    def fresh(self, prefix: str) -> str:
        """A name that is new in the function."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, number: int) -> NativeValue:
        """A number."""
        return self.value(f"arith.constant {number} : i64")

    def block(self, label: str, arguments: Sequence[NativeValue] = ()) -> None:
        """Goes on in a new block."""
        shown = f"({', '.join(f'{v.ssa}: {v.mlir}' for v in arguments)})" if arguments else ""
        self.lines.append(f"{label}{shown}:")
        self.ended = False

    def jump(self, label: str, values: Sequence[NativeValue] = ()) -> None:
        """Ends the block, with what the next one takes."""
        self.end(jump(label, values))

    def fork(self, condition: str, yes: str, no: str) -> None:
        """Ends the block with a choice of two."""
        self.end(f"cf.cond_br {condition}, {yes}, {no}")

    def end(self, text: str) -> None:
        """Ends the block."""
        self.line(text)
        self.ended = True

    def as_mlir(self, value: NativeValue, mlir: str) -> str:
        """A value in the type in which it is stored or passed."""
        return self.converted(value.ssa, value.mlir, mlir)

    def converted(self, ssa: str, of: str, to: str) -> str:
        """A value of one type of MLIR in another."""
        if of == to:
            return ssa
        if (of, to) not in CONVERSIONS:
            raise LegatoError(f"{self.function.__qualname__}: {of} does not become {to}")
        return self.value(f"{CONVERSIONS[of, to]} {ssa} : {of} to {to}").ssa

    def call(self, function: Callable[..., Any], operands: Sequence[NativeValue], how: str = "") -> NativeValue | None:
        """A call of a native or extern function; its result, if it has one."""
        of = signature(function)
        op = "llvm.call" if function in EXTERNS else "func.call"
        passed = [self.as_mlir(v, p.mlir) for v, p in zip(operands, of.parameters.values(), strict=True)]
        types = [p.mlir for p in of.parameters.values()]
        if function in POINTED or function in MODEL_FUNCTIONS:
            if function in MODEL_FUNCTIONS:
                passed, types = [self.of_model(MODEL_FUNCTIONS[function], Pointer).ssa, *passed], ["!llvm.ptr", *types]
            code, *passed = passed
            text = f"llvm.call {code}({', '.join(passed)}) : !llvm.ptr, ({', '.join(types[1:])}) -> {of.returned}"
        else:
            if function not in EXTERNS and needs_model(function):
                passed, types = [self.model, *passed], ["!llvm.ptr", *types]
            text = f"{op} {how}@{self.program.use(function)}({', '.join(passed)}) : ({', '.join(types)}) -> {of.returned}"
        if of.result is None:
            self.line(text)
            return None
        return self.widened(self.value(text).ssa, of.result)

    def of_model(self, place: int, type_: type[int]) -> NativeValue:
        """The address of a table or a function of the model, from its list."""
        at = self.value(f"llvm.getelementptr {self.model}[{place}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr")
        return self.value(f"llvm.load {at.ssa} invariant : !llvm.ptr -> !llvm.ptr", type_)

    def widened(self, ssa: str, of: NativeParameter) -> NativeValue:
        """A parameter, or what a call gives, as the language sees it."""
        return NativeValue(self.converted(ssa, "i32", "i64") if of.mlir == "i32" else ssa, of.type)

    def refused(self, node: ast.AST, why: str = "is not in the language") -> LegatoError:
        """The error for code that cannot be compiled."""
        return LegatoError(f"{self.function.__module__}.{self.function.__name__}: '{ast.unparse(node)}' {why} (codegen/native/language.py)")


def jump(label: str, values: Sequence[NativeValue] = ()) -> str:
    """The branch to a block that takes values."""
    shown = f"({', '.join(v.ssa for v in values)} : {', '.join(v.mlir for v in values)})" if values else ""
    return f"cf.br {label}{shown}"
