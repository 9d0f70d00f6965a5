"""The values of a kernel as expressions."""

from collections.abc import Callable
from typing import Any

from legato.core.mlir import func, ir
from legato.dialects.tir.loops import constant_of
from legato.frontends.script.printer.text import NotPrintable, Text, constant, dtype_of, number
from legato.frontends.script.printer.words import (
    ATOM,
    BOOLEAN,
    CALLS,
    CASTS,
    COMPARE,
    COMPARISONS,
    COMPOSED,
    INFIX,
    MINUS,
    NOT,
    PREDICATES_F,
    PREDICATES_I,
    PRODUCT,
    SIGNED,
    UNSIGNED,
)

CHEAP = 24  # characters: an index that is read twice and is shorter is written twice


class Expressions:
    """Writes expressions. ``texts``: of values whose op has been seen, by what they are read as; ``names``: of those that have one."""

    def __init__(self, kernel: func.FuncOp):
        self.kernel = kernel
        self.texts: dict[ir.Value, Text] = {}
        self.pending: dict[ir.Value, Text] = {}  # which stand where they are read, once
        self.skipped: list[ir.Operation] = []    # which are parts of something else that is written

    def refuse(self, why: str) -> NotPrintable:
        return NotPrintable(f"@{self.kernel.name.value} cannot be written as a script: {why}")

    def let(self, value: ir.Value, text: Text) -> None:
        """Gives a value a name, in a line of its own."""
        raise NotImplementedError

    def read(self, value: ir.Value) -> Text:
        """A value as it is written where it is read."""
        if value in self.pending:
            self.texts.pop(value, None)
            return self.pending.pop(value)
        if value in self.texts:
            return self.texts[value]
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
            self.texts[value] = constant(owner.operation)
            return self.texts[value]
        raise self.refuse(f"a value of type {value.type} has no words")

    def index(self, value: ir.Value) -> str:
        """An index of an element, or a bound: integers of all types are taken."""
        return self.read(value).source

    def remember(self, value: ir.Value, text: Text) -> None:
        """Keeps an expression for where it is read, or gives it a name where it is read more than once."""
        uses = [use for use in value.uses if self.is_written(use) and use.owner.operation not in self.skipped]
        if len(uses) == 1:
            self.pending[value] = text
        elif uses and not text.reads and is_cheap(text):
            self.texts[value] = text
        elif uses:
            self.let(value, text)

    # --- ops ---

    def value(self, op: ir.Operation) -> None:
        """An op of arith, math or tir that gives a value."""
        name = op.name
        if name == "arith.constant":
            return
        if not name.startswith(("arith.", "math.", "tir.")):
            raise self.refuse(f"it has {name}")
        if self.is_inside_remainder(op) or op in self.skipped:
            return
        remainder = self.remainder(op)
        if remainder is not None:
            self.remember(op.results[0], remainder)
            return
        if name == "arith.index_cast" and self.feeds_float(op):
            self.remember(op.results[0], self.read(op.operands[0]))  # what T.cast(i, "float32") does on the way
            return
        method: Callable[[ir.Operation, list[Text]], Text] | None = getattr(self, "expression_" + name.partition(".")[2], None)
        operands = [self.signed(self.read(v), name) for v in op.operands]
        if name in CASTS:
            text = self.cast(op, operands[0])
        elif name in INFIX:
            text = self.infix(op, operands)
        elif method is not None:
            text = method(op, operands)
        elif name in CALLS:
            text = Text(f"{CALLS[name]}({', '.join(t.source for t in self.together(operands))})", common(operands), reads=reads(operands))
        else:
            raise self.refuse(f"it has {name}")
        self.remember(op.results[0], text)

    def infix(self, op: ir.Operation, operands: list[Text]) -> Text:
        a, b = operands
        if dtype_of(op.results[0].type) == "bool":
            return self.logical(op, a, b)
        sign, binds = INFIX[op.name]
        a, b = self.together(operands)
        if a.source.startswith("-") and a.binds == ATOM:  # a negative literal
            a = Text(a.source, a.dtype, MINUS, a.reads)
        return Text(f"{a.inside(binds)} {sign} {b.inside(binds + 1)}", common([a, b]), binds, reads(operands))

    def logical(self, op: ir.Operation, a: Text, b: Text) -> Text:
        if op.name == "arith.xori" and b.source == "True":
            return Text(f"not {a.inside(NOT)}", "bool", NOT, a.reads)
        if op.name not in BOOLEAN:
            raise self.refuse(f"it has {op.name} on truth values")
        word, binds = BOOLEAN[op.name]
        if word == "!=":
            return Text(f"{a.inside(binds + 1)} != {b.inside(binds + 1)}", "bool", binds, reads([a, b]))
        return Text(f"{a.inside(binds)} {word} {b.inside(binds + 1)}", "bool", binds, reads([a, b]))

    def together(self, operands: list[Text]) -> list[Text]:
        """Operands of one type: where one says it, literals need not."""
        if all(t.literal is not None for t in operands):
            return operands
        dtype = common(operands)
        return [number(int(t.literal) % 2 ** int(dtype[4:]), dtype).short() if t.literal and dtype.startswith("uint") else t.short()
                for t in operands]

    def signed(self, text: Text, name: str) -> Text:
        """An integer as an op takes it, with a sign or without one."""
        if name in UNSIGNED and text.dtype.startswith("int"):
            return Text(f'T.Cast("u{text.dtype}", {text.source})', f"u{text.dtype}", reads=text.reads)
        if name in SIGNED and text.dtype.startswith("uint") and name != "arith.index_cast":
            return Text(f'T.Cast("{text.dtype[1:]}", {text.source})', text.dtype[1:], reads=text.reads)
        return text

    # --- casts ---

    def cast(self, op: ir.Operation, x: Text) -> Text:
        name, dtype = op.name, dtype_of(op.results[0].type)
        if name == "arith.extui" and x.dtype == "bool" and self.is_stored_truth(op):
            return x
        if dtype == "index":
            return x if x.dtype in ("int64", "uint64") else self.widened(op, x)
        if dtype == "bool":
            return Text(f"{self.together([x, number(1, x.dtype)])[0].inside(PRODUCT)} % 2 != 0", "bool", COMPARE, x.reads)
        if name in ("arith.fptoui", "arith.index_castui") or (x.dtype.startswith("uint") and name == "arith.trunci"):
            dtype = f"u{dtype}"
        if name == "arith.extsi" and x.dtype == "bool":
            return Text(f"T.Select({x.source}, T.{dtype}(-1), T.{dtype}(0))", dtype, reads=x.reads)
        if name == "arith.extui" and x.dtype.startswith("uint"):
            dtype = f"u{dtype}"
        return Text(f'T.Cast("{dtype}", {x.source})', dtype, reads=x.reads)

    def is_stored_truth(self, op: ir.Operation) -> bool:
        """Whether a truth value is made a byte only to be stored."""
        raise NotImplementedError

    def widened(self, op: ir.Operation, x: Text) -> Text:
        """An integer that is used as an index: as it is where it is one, else with all of an index's bits."""
        users = [use.owner.operation.name for use in op.results[0].uses]
        if all(u in ("memref.load", "memref.store", "tir.block", "tir.for") for u in users) and len(users) == 1:
            return x
        wide = "uint64" if op.name == "arith.index_castui" else "int64"
        return Text(f'T.Cast("{wide}", {x.source})', "int64", reads=x.reads)

    def feeds_float(self, op: ir.Operation) -> bool:
        users = [use.owner.operation for use in op.results[0].uses]
        return isinstance(op.operands[0].type, ir.IndexType) and str(op.results[0].type) == "i64" and len(users) == 1 and (
            users[0].name == "arith.sitofp")

    # --- remainders ---

    def parts_of_remainder(self, op: ir.Operation) -> tuple[ir.Operation, ir.Operation] | None:
        """The product and the quotient of ``x - x // n * n``."""
        if op.name != "arith.subi" or isinstance(op.operands[1].owner, ir.Block):
            return None
        product = op.operands[1].owner.operation
        if product.name != "arith.muli" or isinstance(product.operands[0].owner, ir.Block) or len(list(product.results[0].uses)) != 1:
            return None
        quotient = product.operands[0].owner.operation
        fits = quotient.name == "arith.floordivsi" and quotient.operands[0] == op.operands[0] and (
            quotient.operands[1] == product.operands[1] or same_constant(quotient.operands[1], product.operands[1]))
        return (product, quotient) if fits else None

    def is_written(self, use: Any) -> bool:
        """Whether a use of a value is a place where it is written: in ``x % n`` the value n is once, for its quotient and its product."""
        user = use.owner.operation
        return not self.is_inside_remainder(user) or (user.name == "arith.muli" and use.operand_number == 1)

    def is_inside_remainder(self, op: ir.Operation) -> bool:
        """Whether an op is only a part of what ``%`` does."""
        if op.name not in ("arith.muli", "arith.floordivsi"):
            return False
        for use in op.results[0].uses:
            user = use.owner.operation
            outer = user if op.name == "arith.muli" else next((u.owner.operation for u in user.results[0].uses), None) if (
                user.name == "arith.muli") else None
            found = self.parts_of_remainder(outer) if outer is not None else None
            if found is None or op not in found:
                return False
        return bool(list(op.results[0].uses))

    def remainder(self, op: ir.Operation) -> Text | None:
        found = self.parts_of_remainder(op)
        if found is None:
            return None
        product, _ = found
        x, n = self.read(op.operands[0]), self.read(product.operands[1])
        a, b = self.together([self.signed(x, "arith.floordivsi"), n])
        return Text(f"{a.inside(PRODUCT)} % {b.inside(PRODUCT + 1)}", x.dtype, PRODUCT, reads([x, n]))

    # --- ops that are no operator ---

    def expression_cmpi(self, op: ir.Operation, operands: list[Text]) -> Text:
        predicate = PREDICATES_I[op.attributes["predicate"].value]
        kind = {"u": "arith.divui", "s": "arith.divsi"}.get(predicate[0], "")
        a, b = self.together([self.signed(t, kind) for t in operands])
        return Text(f"{a.inside(COMPARE + 1)} {COMPARISONS[predicate]} {b.inside(COMPARE + 1)}", "bool", COMPARE, reads([a, b]))

    def expression_cmpf(self, op: ir.Operation, operands: list[Text]) -> Text:
        predicate = PREDICATES_F[op.attributes["predicate"].value]
        a, b = self.together(operands)
        if (predicate in COMPARISONS and not predicate.startswith("u")) or predicate == "une":
            return Text(f"{a.inside(COMPARE + 1)} {COMPARISONS[predicate]} {b.inside(COMPARE + 1)}", "bool", COMPARE, reads([a, b]))
        if predicate not in COMPOSED:
            return Text(str(predicate == "true"), "bool")
        if predicate in ("uno", "ord") and op.operands[0] == op.operands[1]:
            none = Text(f"T.isnan({a.source})", "bool", reads=a.reads)
            return none if predicate == "uno" else Text(f"not {none.source}", "bool", NOT, a.reads)
        form, binds = COMPOSED[predicate]
        return Text(form.format(a=a.inside(COMPARE + 1), b=b.inside(COMPARE + 1)), "bool", binds, reads([a, b]))

    def expression_select(self, op: ir.Operation, operands: list[Text]) -> Text:
        test, a, b = operands
        chosen = self.together([a, b])
        dtype = common([a, b])
        return Text(f"T.Select({test.source}, {', '.join(t.source for t in chosen)})", dtype, reads=reads(operands))

    def expression_negf(self, op: ir.Operation, operands: list[Text]) -> Text:
        return Text(f"-{operands[0].inside(MINUS)}", operands[0].dtype, MINUS, operands[0].reads)

    def expression_bitcast(self, op: ir.Operation, operands: list[Text]) -> Text:
        dtype = dtype_of(op.results[0].type)
        return Text(f'T.reinterpret("{dtype}", {operands[0].source})', dtype, reads=operands[0].reads)

    def expression_ceildivsi(self, op: ir.Operation, operands: list[Text]) -> Text:
        if (constant_of(op.operands[1]) or 0) < 1:
            raise self.refuse("it has arith.ceildivsi by what is no positive number")
        a, b = self.together(operands)
        return Text(f"T.ceildiv({a.source}, {b.source})", operands[0].dtype, reads=reads(operands))

    def expression_maxnumf(self, op: ir.Operation, operands: list[Text]) -> Text:
        return self.of_numbers(operands, "T.max")

    def expression_minnumf(self, op: ir.Operation, operands: list[Text]) -> Text:
        return self.of_numbers(operands, "T.min")

    def of_numbers(self, operands: list[Text], word: str) -> Text:
        """The larger or smaller of two, the other one where one is not a number."""
        a, b = (t.source for t in operands)
        return Text(f"T.Select(T.isnan({a}), {b}, T.Select(T.isnan({b}), {a}, {word}({a}, {b})))", operands[0].dtype, reads=reads(operands))


def is_cheap(text: Text) -> bool:
    """Whether an expression is written twice rather than given a name."""
    return (len(text.source) <= CHEAP and text.dtype == "index") or (text.binds == ATOM and "(" not in text.source)


def reads(operands: list[Text]) -> frozenset[str]:
    return frozenset().union(*(t.reads for t in operands))


def common(operands: list[Text]) -> str:
    """The type that operands have together: one that is a literal takes the other's, and an index that of any integer."""
    known = [t.dtype for t in operands if t.literal is None] or [operands[0].dtype]
    return next((d for d in known if d != "index"), "index")


def same_constant(a: ir.Value, b: ir.Value) -> bool:
    number: Any = constant_of(a)
    return number is not None and number == constant_of(b)
