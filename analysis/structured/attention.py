"""The form of a kernel that computes an attention: a product of queries and keys, softmax over the keys, a product with values.

The terms of indices are ``m`` (queries), ``n`` (keys), ``d`` (the depth of queries and keys), ``e`` (that of values), and ``b0``, ``b1``,
... for the loops around these: batch and heads.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

from legato.analysis.structured.elements import (
    VIEWS,
    BodyScalar,
    Index,
    Term,
    Untraceable,
    elementwise,
    is_given,
    leaves,
    loops_at,
    root,
    tensor_leaves,
    yielded,
)
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.ops import PARALLEL, StructuredOp
from legato.core.ir_helpers import defining_op
from legato.core.mlir import arith, ir

ALLOWED = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.extract_slice", "tensor.cast", "tensor.empty", "tensor.dim",
           "linalg.fill", "linalg.generic", "linalg.matmul", "linalg.batch_matmul", "linalg.transpose", "arith.constant", "func.return")
PARTS = (*VIEWS, "tensor.extract_slice")    # of an argument, which queries, keys, values and what scores are made of may be
LOWEST = -3e38  # starts of maxima are below


@dataclass(frozen=True)
class AttentionForm:
    """A kernel's attention. Scalars are those of the bodies of its two products, at the terms that the module names."""

    kernel: KernelOps
    products: tuple[StructuredOp, StructuredOp]
    """The product of queries and keys, and that with values."""
    query: BodyScalar
    key: BodyScalar
    value: BodyScalar
    scores: tuple[ir.Value, Index]
    """What softmax reads: the tensor, made from the first product by elementwise ops, and its index."""
    first: Index
    """The index of the first product's result."""
    second: Index
    """The index of the second product's result."""
    out: Index
    """The index of the kernel's result."""
    batch: tuple[Term, ...]
    guarded: bool
    """Whether rows of softmax that are NaN, such as those without any key, count as 0."""

    @classmethod
    def of(cls, kernel: KernelOps) -> AttentionForm | None:
        """The form of a kernel; None for another kernel."""
        returned = list(kernel.ops[-1].operands)
        if len(returned) != 1 or any(op.name not in ALLOWED for op in kernel.ops):
            return None
        sums = [op for op in kernel.structured if not op.is_fill and not op.parallel and op.summed_product is not None]
        if len(sums) != 2:
            return None
        try:
            return _Matcher(kernel, sums[0], sums[1]).form(returned[0])
        except Untraceable:
            return None

    @cached_property
    def reads(self) -> dict[str, list[tuple[ir.Value, Index]]]:
        """The elements that queries, keys, values and scores are computed from, by these words; of scores without the first product."""
        products = [op.op.results[0] for op in self.products]
        found = {name: list(leaves(self.kernel, scalar))
                 for name, scalar in (("query", self.query), ("key", self.key), ("value", self.value))}
        found["scores"] = [one for one in tensor_leaves(self.kernel, *self.scores, products[0]) if one[0] != products[0]]
        return found

    def is_element(self, name: str) -> bool:
        """Whether queries, keys or values (by these words, in the singular) are elements of one tensor of f32, not computed from any."""
        found = root(self.kernel, {"query": self.query, "key": self.key, "value": self.value}[name]).operand
        return found is not None and found in self.reads[name] and found[0].type.element_type == ir.F32Type.get()

    @property
    def in_bf16(self) -> bool:
        """Whether queries, keys and values are numbers of bf16."""
        return all(self._is_bf16(scalar) for scalar in (self.query, self.key, self.value))

    def _is_bf16(self, scalar: BodyScalar) -> bool:
        """Whether a scalar is one of bf16, or was widened from one."""
        while scalar.value.type != ir.BF16Type.get():
            read = scalar.operand
            op = elementwise(self.kernel, read[0]) if read is not None else None
            if scalar.inner is not None and scalar.inner.name == "arith.extf":
                scalar = scalar.other(scalar.inner.operands[0])
            elif read is not None and op is not None:
                scalar = yielded(op, read[1])
            else:
                return False
        return True

    @property
    def keys_are_columns(self) -> bool:
        """Whether neighbouring elements of the keys' tensor are of different keys: it is transposed."""
        return any("n" in index and index[-1] != "d" for _, index in self.reads["key"])

    def extent(self, term: Term) -> int | None:
        """The extent of a loop; None where it is dynamic."""
        sizes = (size for value, index in self._indexed for size, one in zip(value.type.shape, index) if one == term and size >= 0)
        return next(sizes, None)

    def source(self, term: Term) -> tuple[ir.Value, int]:
        """A tensor of the kernel's arguments, or a view of one, and its dimension whose size is the extent of a loop."""
        return next((value, index.index(term)) for value, index in self._indexed
                    if term in index and isinstance(value.type, ir.RankedTensorType))

    @cached_property
    def _indexed(self) -> list[tuple[ir.Value, Index]]:
        out = list(self.kernel.function.arguments)[-1]
        return [(out, self.out), *(one for found in self.reads.values() for one in found if isinstance(one[0].type, ir.RankedTensorType))]


class _Matcher:
    """Matches one kernel."""

    def __init__(self, kernel: KernelOps, first: StructuredOp, second: StructuredOp):
        self.kernel, self.first, self.second = kernel, first, second

    def form(self, returned: ir.Value) -> AttentionForm | None:
        """The form; None where there is none. The loops of the second product are numbered in its own terms first."""
        loops: dict[int, Term] = {i: f"l{i}" for i in range(len(self.second.iterator_types))}
        keys = [loops[i] for i, kind in enumerate(self.second.iterator_types) if kind != PARALLEL]
        if len(keys) != 1 or not self._starts_at(self.second, 0):
            return None
        for left, right in self._orders(self.second):
            shares = root(self.kernel, BodyScalar(self.second, left, loops))
            inside = self._guarded(shares)
            found = self._softmax(inside or shares, keys[0])
            if found is not None:
                return self._roles(returned, found, BodyScalar(self.second, right, loops), keys[0], inside is not None)
        return None

    @staticmethod
    def _orders(op: StructuredOp) -> list[tuple[ir.Value, ir.Value]]:
        product = op.summed_product
        assert product is not None
        a, b = product.operands
        return [(a, b), (b, a)]

    # --- softmax ---

    def _guarded(self, p: BodyScalar) -> BodyScalar | None:
        """The scalar x of ``0 if isnan(x) else x``; None for another scalar."""
        if p.inner is None or p.inner.name != "arith.select" or _number(p.inner.operands[1]) != 0:
            return None
        x, tested = root(self.kernel, p.other(p.inner.operands[2])), self._tested_for_nan(p.other(p.inner.operands[0]))
        return x if tested is not None and (x.value, x.loops) == (tested.value, tested.loops) else None

    def _tested_for_nan(self, condition: BodyScalar) -> BodyScalar | None:
        """What a condition, or its byte in a tensor, finds to be NaN or not."""
        if (test := condition.inner) is not None and test.name == "arith.cmpi":    # a byte that is not 0
            if test.attributes["predicate"].value != arith.CmpIPredicate.ne.value or _number(test.operands[1]) != 0:
                return None
            condition = root(self.kernel, condition.other(test.operands[0]))
            if condition.inner is None or condition.inner.name != "arith.extui":
                return None
            condition = condition.other(condition.inner.operands[0])
        test = condition.inner
        if test is None or test.name != "arith.cmpf" or test.attributes["predicate"].value != arith.CmpFPredicate.UNO.value:
            return None
        x, other = (root(self.kernel, condition.other(value)) for value in test.operands)
        return x if (x.value, x.loops) == (other.value, other.loops) else None

    def _softmax(self, p: BodyScalar, key: Term) -> tuple[ir.Value, Index] | None:
        """What softmax over ``key`` reads, if a scalar is its result."""
        if p.inner is None or p.inner.name not in ("arith.divf", "arith.mulf"):
            return None
        a, b = p.inner.operands
        if p.inner.name == "arith.divf":
            return self._exponentials(p.other(a), p.other(b), key)
        for power, inverse in ((a, b), (b, a)):
            quotient = root(self.kernel, p.other(inverse))
            if quotient.inner is not None and quotient.inner.name == "arith.divf" and _number(quotient.inner.operands[0]) == 1:
                return self._exponentials(p.other(power), quotient.other(quotient.inner.operands[1]), key)
        return None

    def _exponentials(self, power: BodyScalar, total: BodyScalar, key: Term) -> tuple[ir.Value, Index] | None:
        """What softmax reads, if ``power`` is an exponential and ``total`` the sum of those over ``key``."""
        power, total = root(self.kernel, power), root(self.kernel, total)
        if power.inner is None or power.inner.name != "math.exp":
            return None
        made = power.op.op.results[0], tuple(power.loops[i] for i in range(len(power.loops)))
        if self._reduced(total, "arith.addf", 0, key) != made or list(power.op.out_loops) != list(range(len(power.loops))):
            return None
        difference = power.other(power.inner.operands[0]).without_casts
        if difference.inner is None or difference.inner.name != "arith.subf":
            return None
        x, greatest = (difference.other(value) for value in difference.inner.operands)
        read = x.without_casts.operand
        if read is None or self._reduced(root(self.kernel, greatest), "arith.max", -inf, key) != read:
            return None
        return read

    def _reduced(self, scalar: BodyScalar, combiner: str, start: float, key: Term) -> tuple[ir.Value, Index] | None:
        """The element whose sum or maximum over ``key`` a scalar is; None where it is none."""
        read = scalar.operand
        op = self.kernel.op(owner) if read is not None and (owner := defining_op(read[0])) is not None else None
        if read is None or op is None or op.op.name != "linalg.generic" or not (op.combiner or "").startswith(combiner):
            return None
        reductions = [i for i, kind in enumerate(op.iterator_types) if kind != PARALLEL]
        if len(reductions) != 1 or not self._starts_at(op, start):
            return None
        joined = op.body[-1].operands[0].owner.operation
        loops = {**loops_at(op, read[1]), reductions[0]: key}
        values = [value for value in joined.operands if value != op.scalars[-1]]
        return BodyScalar(op, values[0], loops).without_casts.operand if len(values) == 1 else None

    @staticmethod
    def _starts_at(op: StructuredOp, start: float) -> bool:
        fill = defining_op(op.outputs[0])
        number = _number(fill.operands[0]) if fill is not None and fill.name == "linalg.fill" else None
        return number is not None and (number < LOWEST if start == -inf else number == start)

    # --- roles of loops ---

    def _roles(self, returned: ir.Value, scores: tuple[ir.Value, Index], value: BodyScalar, key: Term,
               guarded: bool) -> AttentionForm | None:
        first, second = self.first.op.results[0], self.second.op.results[0]
        of_scores = [index for tensor, index in tensor_leaves(self.kernel, *scores, first) if tensor == first]
        reductions = [i for i, kind in enumerate(self.first.iterator_types) if kind != PARALLEL]
        if len(set(of_scores)) != 1 or len(reductions) != 1 or not self._starts_at(self.first, 0) or not self.second.writes_plainly:
            return None
        loops = {**loops_at(self.first, of_scores[0]), reductions[0]: "d"}
        factors = [BodyScalar(self.first, factor, loops) for factor in self._orders(self.first)[0]]
        terms = [self._terms(factor) for factor in factors]
        if (key in terms[0]) == (key in terms[1]):
            return None
        query, keys = (1, 0) if key in terms[0] else (0, 1)
        written = [value.loops[loop] for loop in self.second.out_loops if loop is not None]
        of_values = self._terms(value)
        columns = [term for term in written if term not in of_scores[0]]
        rows = [term for term in written if term in of_scores[0] and term not in terms[keys] and term not in of_values]
        if len(columns) != 1 or not rows or columns[0] not in of_values or rows[-1] not in terms[query] or key not in of_values:
            return None
        batch = [term for term in written if term not in (rows[-1], columns[0])]
        if {*of_scores[0]} - {*batch, rows[-1], key} - {0} or len(set(of_scores[0])) != len(of_scores[0]):
            return None
        names: dict[Term, Term] = {rows[-1]: "m", key: "n", columns[0]: "e", "d": "d",
                                   **{term: f"b{i}" for i, term in enumerate(batch)}}
        result = tuple(written)
        out = self._out(returned, second, result)
        if out is None:
            return None

        def renamed(index: Index) -> Index:
            return tuple(names[term] if isinstance(term, str) else term for term in index)

        def at(scalar: BodyScalar) -> BodyScalar:
            return BodyScalar(scalar.op, scalar.value, {loop: names.get(term, term) for loop, term in scalar.loops.items()})

        return AttentionForm(self.kernel, (self.first, self.second), at(factors[query]), at(factors[keys]), at(value),
                             (scores[0], renamed(scores[1])), renamed(of_scores[0]), renamed(result), renamed(out),
                             tuple(names[term] for term in batch), guarded)

    def _terms(self, scalar: BodyScalar) -> set[Term]:
        """The loops that a factor depends on; its elements are those of arguments of the kernel, or views of them."""
        found: set[Term] = set()
        for tensor, index in leaves(self.kernel, scalar):
            if not is_given(tensor, PARTS):
                raise Untraceable
            found |= set(index)
        return found

    def _out(self, returned: ir.Value, second: ir.Value, result: Index) -> Index | None:
        """The index of the kernel's result in the terms of the second product's."""
        given: Index = tuple(f"o{i}" for i in range(returned.type.rank))
        read = [index for tensor, index in tensor_leaves(self.kernel, returned, given, second) if tensor == second]
        others = [one for one in tensor_leaves(self.kernel, returned, given, second) if one[0] != second]
        if len(set(read)) != 1 or len(set(read[0])) != len(read[0]) or any(not is_given(tensor, PARTS) for tensor, _ in others):
            return None
        terms: dict[Term, Term] = dict(zip(read[0], result))
        if any(term not in terms and returned.type.shape[i] != 1 for i, term in enumerate(given)):
            return None
        return tuple(terms.get(term, 0) for term in given)


def _number(value: ir.Value) -> float | None:
    """The number that a constant is; None for another value."""
    owner = defining_op(value)
    if owner is None or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr) else None
