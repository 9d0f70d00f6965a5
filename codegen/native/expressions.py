"""The expressions of native functions. Part of compiler.py."""
from __future__ import annotations

import ast
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from legato.codegen.native import language
from legato.codegen.native.body import FunctionBody, NativeValue, signature
from legato.codegen.native.language import EXTERNS, MODEL_FUNCTIONS, Pointer, Struct, Text, Words, fields, size_of
from legato.codegen.native.reach import needs_model

MESSAGE_BYTES = 2048
ARITHMETIC = {ast.Add: "addi", ast.Sub: "subi", ast.Mult: "muli", ast.FloorDiv: "floordivsi", ast.BitAnd: "andi", ast.BitOr: "ori",
              ast.LShift: "shli", ast.RShift: "shrsi"}
COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}


def expression(body: FunctionBody, node: ast.expr) -> NativeValue:
    """The value of an expression. LegatoError for one that is not in the language, or has no value."""
    compile_ = EXPRESSIONS.get(type(node))
    value = compile_(body, node) if compile_ is not None else None
    if value is None:
        raise body.refused(node)
    return value


def fork(body: FunctionBody, test: ast.expr, yes: str, no: str) -> None:
    """Ends the block with a jump to one of two others, by a condition."""
    if isinstance(test, ast.BoolOp):
        for part in test.values[:-1]:
            more = body.fresh("^b")
            fork(body, part, *((more, no) if isinstance(test.op, ast.And) else (yes, more)))
            body.block(more)
        fork(body, test.values[-1], yes, no)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        fork(body, test.operand, no, yes)
    else:
        value = expression(body, test)
        body.fork(value.ssa if value.type is bool else _compared(body, "ne", value, body.constant(0)).ssa, yes, no)


@dataclass(frozen=True)
class Place:
    """Memory that an assignment can name."""

    address: str
    type: type[int]
    mlir: str        # of what is loaded and stored; empty for memory inside a struct


def place(body: FunctionBody, node: ast.expr) -> Place:
    """The address of a field or an element."""
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        raise body.refused(node)
    base = expression(body, node.value)
    if isinstance(node, ast.Attribute) and issubclass(base.type, Struct) and node.attr in fields(base.type):
        field = fields(base.type)[node.attr]
        return Place(_offset(body, base, str(field.offset)), field.type, field.mlir)
    if isinstance(node, ast.Subscript) and issubclass(base.type, Words):
        index = expression(body, node.slice).ssa
        return Place(body.value(f"llvm.getelementptr {base.ssa}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, i64").ssa, int, "i64")
    if isinstance(node, ast.Subscript) and issubclass(base.type, Struct):
        element = f"!llvm.array<{size_of(base.type)} x i8>"
        index = expression(body, node.slice).ssa
        return Place(body.value(f"llvm.getelementptr {base.ssa}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, {element}").ssa, base.type, "")
    raise body.refused(node)


def _offset(body: FunctionBody, pointer: NativeValue, count: str) -> str:
    """The address ``count`` bytes after a pointer; ``count``: a number, or an i64."""
    types = "(!llvm.ptr, i64)" if count.startswith("%") else "(!llvm.ptr)"
    return pointer.ssa if count == "0" else body.value(f"llvm.getelementptr {pointer.ssa}[{count}] : {types} -> !llvm.ptr, i8").ssa


def _load(body: FunctionBody, node: ast.expr) -> NativeValue:
    found = place(body, node)
    if not found.mlir:
        return NativeValue(found.address, found.type)
    loaded = body.value(f"llvm.load {found.address} : !llvm.ptr -> {found.mlir}", found.type)
    return NativeValue(body.converted(loaded.ssa, "i32", "i64"), int) if found.mlir == "i32" else loaded


def _name(body: FunctionBody, node: ast.Name) -> NativeValue:
    if node.id in body.names:
        return body.names[node.id]
    found = body.scope.get(node.id)
    if isinstance(found, Pointer) and found.symbol:
        return body.of_model(found.place, type(found))
    if isinstance(found, int):
        return body.constant(found)
    raise body.refused(node)


def _constant(body: FunctionBody, node: ast.Constant) -> NativeValue:
    if isinstance(node.value, bool):
        return body.value(f"arith.constant {str(node.value).lower()}", bool)
    if isinstance(node.value, int):
        return body.constant(node.value)
    if isinstance(node.value, str):
        return body.value(f"llvm.mlir.addressof @{body.program.text(node.value)} : !llvm.ptr", Text)
    raise body.refused(node)


def _binary(body: FunctionBody, node: ast.BinOp) -> NativeValue:
    left, right = expression(body, node.left), expression(body, node.right)
    if issubclass(left.type, Pointer):
        count = right if isinstance(node.op, ast.Add) else body.value(f"arith.subi {body.constant(0).ssa}, {right.ssa} : i64")
        if not isinstance(node.op, (ast.Add, ast.Sub)) or right.type is not int:
            raise body.refused(node)
        return NativeValue(_offset(body, left, count.ssa), left.type)
    if type(node.op) not in ARITHMETIC or left.mlir != right.mlir:
        raise body.refused(node)
    return body.value(f"arith.{ARITHMETIC[type(node.op)]} {left.ssa}, {right.ssa} : {left.mlir}", left.type)


def _unary(body: FunctionBody, node: ast.UnaryOp) -> NativeValue:
    if isinstance(node.op, ast.Not):
        return _choose(body, node, ast.Constant(True), ast.Constant(False))
    if isinstance(node.op, ast.USub):
        value = expression(body, node.operand)
        return body.value(f"arith.subi {body.constant(0).ssa}, {value.ssa} : i64")
    raise body.refused(node)


def _compare(body: FunctionBody, node: ast.Compare) -> NativeValue:
    if len(node.ops) != 1 or type(node.ops[0]) not in COMPARISONS:
        raise body.refused(node)
    left, right = expression(body, node.left), expression(body, node.comparators[0])
    return _compared(body, COMPARISONS[type(node.ops[0])], left, right)


def _compared(body: FunctionBody, how: str, left: NativeValue, right: NativeValue) -> NativeValue:
    """Pointers compare as numbers without sign."""
    if any(issubclass(v.type, Pointer) for v in (left, right)):
        how = how.replace("s", "u", 1) if how.startswith("s") else how
    numbers = [body.as_mlir(v, "i64") for v in (left, right)]
    return body.value(f"arith.cmpi {how}, {', '.join(numbers)} : i64", bool)


def _choose(body: FunctionBody, test: ast.expr, yes: ast.expr, no: ast.expr) -> NativeValue:
    """One of two values; the other one is not computed."""
    labels, join = (body.fresh("^b"), body.fresh("^b")), body.fresh("^b")
    fork(body, test, *labels)
    types = []
    for label, node in zip(labels, (yes, no)):
        body.block(label)
        value = expression(body, node)
        types.append(value)
        body.jump(join, [value])
    if types[0].mlir != types[1].mlir:
        raise body.refused(test, "chooses between values of two types")
    chosen = NativeValue(body.fresh("%"), types[0].type)
    body.block(join, [chosen])
    return chosen


def call(body: FunctionBody, node: ast.Call) -> NativeValue | None:
    """A call, whose result there may be none of."""
    if not isinstance(node.func, ast.Name) or node.keywords:
        raise body.refused(node)
    called = int if node.func.id == "int" else body.scope.get(node.func.id)
    if called in INTRINSICS:
        return INTRINSICS[called](body, node)
    if isinstance(called, type) and issubclass(called, int):
        value = expression(body, node.args[0])
        return NativeValue(body.as_mlir(value, NativeValue("", called).mlir), called)
    if called is None:
        raise body.refused(node)
    return body.call(called, [expression(body, a) for a in node.args])


def _function(body: FunctionBody, node: ast.expr) -> Callable[..., Any]:
    found = body.scope.get(node.id) if isinstance(node, ast.Name) else None
    if found is None:
        raise body.refused(node)
    return found


def _stack(body: FunctionBody, node: ast.Call) -> NativeValue:
    if body.loops:
        raise body.refused(node, "stands in a loop, and would take more of the stack at each step")
    type_ = _pointer_type(body, node.args[0])
    count = expression(body, node.args[1]) if len(node.args) > 1 else body.constant(1)
    element = "i8" if type_ is Text else "i64" if type_ is Words else f"!llvm.array<{size_of(type_) // 8} x i64>"
    return body.value(f"llvm.alloca {count.ssa} x {element} : (i64) -> !llvm.ptr", type_)


def _pointer_type(body: FunctionBody, node: ast.expr) -> type[Pointer]:
    found = body.scope.get(node.id) if isinstance(node, ast.Name) else None
    if not (isinstance(found, type) and issubclass(found, Pointer)):
        raise body.refused(node, "is no kind of pointer")
    return found


def _address(body: FunctionBody, node: ast.Call) -> NativeValue:
    return NativeValue(place(body, node.args[0]).address, Words)


def _code_of(body: FunctionBody, node: ast.Call) -> NativeValue:
    function = _function(body, node.args[0])
    if function not in EXTERNS and needs_model(function):
        raise body.refused(node, "needs the model, which no caller by its address gives: it begins with use_model(...)")
    symbol = body.program.use(function)
    if function in EXTERNS:
        return body.value(f"llvm.mlir.addressof @{symbol} : !llvm.ptr", Pointer)
    type_ = signature(function).function_type
    made = body.value(f"func.constant @{symbol} : {type_}")
    return body.value(f"builtin.unrealized_conversion_cast {made.ssa} : {type_} to !llvm.ptr", Pointer)


def _exchange(body: FunctionBody, node: ast.Call) -> NativeValue:
    to, value = (expression(body, a) for a in node.args)
    return body.value(f"llvm.atomicrmw xchg {to.ssa}, {value.ssa} acquire : !llvm.ptr, !llvm.ptr", value.type)


def _store_if_null(body: FunctionBody, node: ast.Call) -> NativeValue:
    to, value = (expression(body, a) for a in node.args)
    null = body.value("llvm.mlir.zero : !llvm.ptr").ssa
    pair = body.value(f"llvm.cmpxchg {to.ssa}, {null}, {value.ssa} release monotonic : !llvm.ptr, !llvm.ptr").ssa
    return body.value(f"llvm.extractvalue {pair}[1] : !llvm.struct<(ptr, i1)>", bool)


def _add_at(body: FunctionBody, node: ast.Call) -> NativeValue:
    to, count = (expression(body, a) for a in node.args)
    return body.value(f"llvm.atomicrmw add {to.ssa}, {count.ssa} seq_cst : !llvm.ptr, i64")


def _swap_at(body: FunctionBody, node: ast.Call) -> NativeValue:
    to, value = (expression(body, a) for a in node.args)
    return body.value(f"llvm.atomicrmw xchg {to.ssa}, {value.ssa} seq_cst : !llvm.ptr, i64")


def _value_at(body: FunctionBody, node: ast.Call) -> NativeValue:
    return body.value(f"llvm.load {expression(body, node.args[0]).ssa} atomic seq_cst {{alignment = 8 : i64}} : !llvm.ptr -> i64")


def _pause(body: FunctionBody, node: ast.Call) -> None:
    if platform.machine() in ("x86_64", "AMD64"):
        body.line('llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()')


def _store_float_mode(body: FunctionBody, node: ast.Call) -> None:
    place = expression(body, node.args[0]).ssa
    if platform.machine() in ("x86_64", "AMD64"):
        body.line(f'llvm.call_intrinsic "llvm.x86.sse.stmxcsr"({place}) : (!llvm.ptr) -> ()')
    elif platform.machine() in ("aarch64", "arm64"):
        mode = body.value('llvm.call_intrinsic "llvm.aarch64.get.fpcr"() : () -> i64')
        body.line(f"llvm.store {mode.ssa}, {place} : i64, !llvm.ptr")


def _use_float_mode(body: FunctionBody, node: ast.Call) -> None:
    place = expression(body, node.args[0]).ssa
    if platform.machine() in ("x86_64", "AMD64"):
        body.line(f'llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"({place}) : (!llvm.ptr) -> ()')
    elif platform.machine() in ("aarch64", "arm64"):
        mode = body.value(f"llvm.load {place} : !llvm.ptr -> i64")
        body.line(f'llvm.call_intrinsic "llvm.aarch64.set.fpcr"({mode.ssa}) : (i64) -> ()')


def _run_part(body: FunctionBody, node: ast.Call) -> None:
    code, *operands = (expression(body, a).ssa for a in node.args)
    body.line(f"llvm.call {code}({', '.join(operands)}) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()")


def _tail_call(body: FunctionBody, node: ast.Call) -> None:
    body.call(_function(body, node.args[0]), [expression(body, a) for a in node.args[1:]], "musttail ")


def _model(body: FunctionBody, node: ast.Call) -> NativeValue:
    return NativeValue(body.model, Words)


def _use_model(body: FunctionBody, node: ast.Call) -> None:
    if body.model:
        raise body.refused(node, "says again which model it is")
    body.model = expression(body, node.args[0]).ssa


def _model_has(body: FunctionBody, node: ast.Call) -> NativeValue:
    what = body.scope.get(node.args[0].id) if isinstance(node.args[0], ast.Name) else None
    place = what.place if isinstance(what, Pointer) and what.symbol else MODEL_FUNCTIONS.get(what) if callable(what) else None
    if place is None:
        raise body.refused(node, "names nothing that a model may have")
    return _compared(body, "ne", body.of_model(place, Pointer), body.constant(0))


def _double_bits(body: FunctionBody, node: ast.Call) -> NativeValue:
    double = body.value(f"arith.sitofp {expression(body, node.args[0]).ssa} : i64 to f64")
    return body.value(f"arith.bitcast {double.ssa} : f64 to i64")


def _size_of(body: FunctionBody, node: ast.Call) -> NativeValue:
    return body.constant(size_of(_pointer_type(body, node.args[0])))


def _snprintf(body: FunctionBody, node: ast.Call) -> NativeValue:
    to, size = (expression(body, a) for a in node.args[:2])
    return _formatted(body, to, size, node.args[2], node.args[3:])


def _formatted(body: FunctionBody, to: NativeValue, size: NativeValue, form: ast.expr, operands: Sequence[ast.expr] = ()) -> NativeValue:
    """Writes an f-string, or a format with its operands, to memory of a size; gives the length without that limit."""
    values = [expression(body, operand) for operand in operands]
    if isinstance(form, ast.JoinedStr):
        text = ""
        for part in form.values:
            if isinstance(part, ast.FormattedValue):
                values.append(expression(body, part.value))
                text += "%s" if values[-1].type is Text else "%lld"
            elif isinstance(part, ast.Constant):
                text += str(part.value).replace("%", "%%")
        form = ast.Constant(text)
    passed = [to, size, expression(body, form), *values]
    body.program.declare("snprintf", "llvm.func @%s(!llvm.ptr, i64, !llvm.ptr, ...) -> i32")
    written = body.value(f"llvm.call @snprintf({', '.join(v.ssa for v in passed)}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : "
                         f"({', '.join(v.mlir for v in passed)}) -> i32")
    return NativeValue(body.converted(written.ssa, "i32", "i64"), int)


def _message(body: FunctionBody, node: ast.JoinedStr) -> NativeValue:
    if body.loops:
        raise body.refused(node, "stands in a loop, and would take more of the stack at each step")
    size = body.constant(MESSAGE_BYTES)
    to = body.value(f"llvm.alloca {size.ssa} x i8 : (i64) -> !llvm.ptr", Text)
    _formatted(body, to, size, node)
    return to


EXPRESSIONS: dict[type[ast.expr], Callable[..., NativeValue | None]] = {
    ast.Name: _name, ast.Constant: _constant, ast.Attribute: _load, ast.Subscript: _load, ast.BinOp: _binary, ast.UnaryOp: _unary,
    ast.Compare: _compare, ast.BoolOp: lambda body, node: _choose(body, node, ast.Constant(True), ast.Constant(False)),
    ast.IfExp: lambda body, node: _choose(body, node.test, node.body, node.orelse), ast.Call: call, ast.JoinedStr: _message,
}
INTRINSICS: dict[Any, Callable[[FunctionBody, ast.Call], NativeValue | None]] = {
    language.stack: _stack, language.address: _address, language.code_of: _code_of, language.exchange: _exchange,
    language.store_if_null: _store_if_null, language.tail_call: _tail_call, language.snprintf: _snprintf,
    language.double_bits: _double_bits, language.add_at: _add_at, language.swap_at: _swap_at, language.value_at: _value_at,
    language.pause: _pause, language.store_float_mode: _store_float_mode, language.use_float_mode: _use_float_mode,
    language.model: _model, language.use_model: _use_model, language.model_has: _model_has, language.run_part: _run_part,
    language.size_of: _size_of,
}
