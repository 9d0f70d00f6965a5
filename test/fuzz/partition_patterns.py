"""Random patterns, after parts of a graph that they match, with random constraints."""
from collections.abc import Callable
from random import Random

import legato
from legato.analysis.patterns.language import all_parts
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.graph import op_class
from legato.dialects.relax.types import TensorType
from legato.patterns import Composite, Match, Pattern, composite, each_operand, is_const, is_op, outputs, wildcard

CONSTANT = "relax.constant"


def graph_ops(module: legato.Module) -> list[ir.Operation]:
    """The graph ops of all functions, those in branches and loops too, without constants."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != CONSTANT and op_class(op) is not None and len(op.results):
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


class PatternWriter:
    """Writes patterns after the ops of one module."""

    def __init__(self, module: legato.Module, random: Random):
        self.ops, self.random = graph_ops(module), random

    def patterns(self) -> list[Composite]:
        """A few, whose matches may overlap."""
        return [composite(f"p{number}", self._pattern(), self._check()) for number in range(self.random.randint(1, 4))]

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _pattern(self) -> Pattern:
        op = self.random.choice(self.ops)
        found = self._of_op(op, self.random.randint(0, 3), {})
        if self._chance(0.25):
            found = found | self._of_op(self.random.choice(self.ops), 1, {})
        if self._chance(0.25):
            found = self._followed(op, found)
        elif self._chance(0.15):
            chained = self.random.choice([op for op in self.ops if len(op.operands)] or [op])
            found = found.repeated(lambda link: is_op(chained.name)(*self._one_of(chained, link)), self.random.randint(0, 1))
        elif self._chance(0.15):
            found = self._with_another_root(op, found)
        return found

    def _one_of(self, op: ir.Operation, link: Pattern) -> list[Pattern]:
        """Operands of which the first is ``link``."""
        return [link, *(wildcard() for _ in range(max(len(op.operands), 1) - 1))]

    def _followed(self, op: ir.Operation, found: Pattern) -> Pattern:
        """With an optional op that reads it."""
        users = [use.owner.operation for use in op.results[0].uses if use.owner.operation in self.ops]
        if not users:
            return found
        user = self.random.choice(users)

        def epilogue(value: Pattern) -> Pattern:
            return is_op(user.name)(*(value if operand == op.results[0] else wildcard() for operand in user.operands))

        return found.optional(epilogue)

    def _with_another_root(self, op: ir.Operation, found: Pattern) -> Pattern:
        """One group with the result of a second op that reads the same value."""
        if not len(op.operands):
            return found
        value, known = self.random.choice([*op.operands]), {}
        others = [use.owner.operation for use in value.uses if use.owner.operation in self.ops and use.owner.operation != op]
        if not others:
            return found
        known[value] = wildcard()
        one, other = self._of_op(op, 0, known), self._of_op(self.random.choice(others), 0, known)
        return outputs(one, other) if {*all_parts(one)} & {*all_parts(other)} else found    # outputs that share nothing are refused

    def _of_op(self, op: ir.Operation, depth: int, known: dict[ir.Value, Pattern]) -> Pattern:
        """A pattern that the op matches. ``depth``: how many ops above it; ``known``: patterns of values that stand in several places."""
        names = [op.name]
        if self._chance(0.2):
            names.append(self.random.choice(self.ops).name)
        found = is_op(*names)
        operands = [*op.operands]
        if self._chance(0.85):
            found = found(*(self._of_value(value, depth - 1, known) for value in operands))
        elif len(operands) > 1 and self._chance(0.5):
            found = found(each_operand(wildcard))
        return self._constrained(op, found)

    def _of_value(self, value: ir.Value, depth: int, known: dict[ir.Value, Pattern]) -> Pattern:
        if value in known and self._chance(0.8):
            return known[value]
        known[value] = found = self._new(value, depth, known)
        return found

    def _new(self, value: ir.Value, depth: int, known: dict[ir.Value, Pattern]) -> Pattern:
        owner = value.owner
        if isinstance(owner, ir.Block) or self._chance(0.1):
            return wildcard()
        op = owner.operation
        if op.name == CONSTANT:
            return is_const() if self._chance(0.7) else wildcard()
        if depth < 0 or op not in self.ops or self._chance(0.15):
            return wildcard()
        found = self._of_op(op, depth, known)
        return found.exposed() if self._chance(0.4) else found

    def _constrained(self, op: ir.Operation, found: Pattern) -> Pattern:
        """With a constraint that the op meets, most times."""
        type_ = TensorType.of(op.results[0].type)
        choice = self.random.random()
        if choice < 0.08:
            return found.has_dtype(type_.dtype)
        if choice < 0.16:
            return found.has_rank(type_.rank, self.random.randint(0, 4))
        if choice < 0.24:
            return found.has_shape(*(size if self._chance(0.7) else None for size in type_.dims))
        attributes = relax.attributes_of(op)
        if choice < 0.32 and attributes:
            name = self.random.choice([*attributes])
            return found.has_attr(**{name: attributes[name]})
        return found

    def _check(self) -> Callable[[Match], bool | str] | None:
        """A check that takes some matches, if any."""
        choice, least, word = self.random.random(), self.random.randint(0, 3), self.random.randrange(3)
        if choice < 0.7:
            return None
        if choice < 0.8:
            return lambda match: len(match.nodes) > least or "it is too small"
        if choice < 0.9:
            return lambda match: (match.root.type is not None and match.root.type.rank >= least) or "its rank is too small"
        return lambda match: sum(map(len, (op.name for op in match.ops))) % 3 != word or "it is none of ours"
