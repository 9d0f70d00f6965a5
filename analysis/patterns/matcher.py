"""The matching algorithm: from the last op backwards along operands, with backtracking over all choices."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from legato.analysis.patterns.composite import Composite
from legato.analysis.patterns.graph import Graph, Node, Ref
from legato.analysis.patterns.language import Alternatives, ConstantPattern, EachOperand, OpPattern, Outputs, Pattern, Repeated, all_parts
from legato.analysis.patterns.match import Match
from legato.core.errors import LegatoError
from legato.core.mlir import func

COMMUTATIVE = frozenset(f"relax.{name}" for name in (
    "add", "multiply", "maximum", "minimum", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor"))


WHOLE, CHECKED = 1000, 2000


@dataclass(frozen=True)
class Attempt:
    """The outcome of a pattern at one op. ``reason``: why it does not match, or None; ``taken``: the ops of the match."""

    pattern: str
    node: Node
    reason: str | None
    taken: tuple[Node, ...] = ()


@dataclass(frozen=True)
class State:
    """The state of a partial match: values by pattern, and the ops."""

    bound: dict[Pattern, Ref]
    nodes: tuple[Node, ...] = ()

    def binding(self, pattern: Pattern, ref: Ref) -> State:
        """The state with a pattern bound to a value."""
        return State({**self.bound, pattern: ref}, self.nodes)

    def taking(self, node: Node) -> State:
        """The state with another op."""
        return State(self.bound, self.nodes if node in self.nodes else (*self.nodes, node))


class Matcher:
    """Matches the patterns of one backend in one graph; an op belongs to one match only.

    ``attempts`` records the outcome of each pattern at each op that it could end in.
    """

    def __init__(self, graph: Graph, taken: set[Node] | None = None):
        self.graph = graph
        self.taken = taken if taken is not None else set()
        self.attempts: list[Attempt] = []
        self._why = (-1, "")

    def matches(self, composite: Composite) -> list[Match]:
        """All matches, which have no op in common, the last in the program first. Raises what the composite's check raises."""
        found = []
        for node in self._candidates(composite.pattern):
            if node in self.taken:
                continue
            match, reason = self.match_at(composite, node)
            if match is not None:
                self.taken.update(match.own)
                found.append(match)
            self.attempts.append(Attempt(composite.name, node, reason, tuple(match.nodes) if match is not None else ()))
        return found

    def refusal_at(self, node: Node) -> str | None:
        """Why the pattern that was tried last at an op does not match there; None if none ends in such an op."""
        return next((attempt.reason for attempt in reversed(self.attempts) if attempt.node is node), None)

    def match_at(self, composite: Composite, node: Node) -> tuple[Match | None, str | None]:
        """The match that ends in an op, or the reason why there is none: that of the attempt that got furthest."""
        self._why = (-1, "")
        for ref in node.results:
            for roots, state in self._rooted(composite.pattern, ref):
                match = self._finished(composite, roots, state)
                if match is not None:
                    return match, None
        return None, self._why[1]

    def _candidates(self, pattern: Pattern) -> list[Node]:
        names = pattern.roots()
        if names is None:
            nodes = [n for n in self.graph.nodes if n.is_pure]
        else:
            nodes = sorted((n for name in names for n in self.graph.by_name.get(name, ())), key=lambda n: n.position)
        return nodes[::-1]

    def _finished(self, composite: Composite, roots: list[Ref], state: State) -> Match | None:
        exposed = {ref for pattern, ref in state.bound.items() if pattern.is_exposed}
        inside, escaping = set(state.nodes), []
        copied = _copied(state, roots)
        for node in state.nodes:
            for ref in () if node in copied else node.results:
                outside = next((u for u in node.users if u not in inside), None)
                if ref in roots or outside is None:
                    continue
                if ref not in exposed:
                    self._note(state, f"the result of {node} is also read outside, by {outside}", WHOLE)
                    return None
                escaping.append(ref)
        labels = {p.label: ref for p, ref in state.bound.items() if p.label is not None}
        match = Match(composite.name, state.nodes, roots, labels, escaping, copied)
        reason = self.graph.size_refusal(state.nodes, match.results) or composite.refusal(match)
        if reason is not None:
            self._note(state, reason, CHECKED)
            return None
        return match

    def _rooted(self, pattern: Pattern, ref: Ref) -> Iterator[tuple[list[Ref], State]]:
        if not isinstance(pattern, Outputs):
            for state in self._match(pattern, ref, State({})):
                if state.nodes:
                    yield [ref], state
            return
        first, *others = pattern.patterns
        for state in self._match(first, ref, State({})):
            yield from self._more_roots(others, [ref], state)

    def _more_roots(self, patterns: list[Pattern], roots: list[Ref], state: State) -> Iterator[tuple[list[Ref], State]]:
        if not patterns:
            yield roots, state
            return
        first, *others = patterns
        shared = {part for part in all_parts(first) if part in state.bound}
        if not shared:
            self._note(state, f"the output {first} shares nothing with the outputs before it")
            return
        for node in self._candidates(first):
            if node in state.nodes:
                continue
            for ref in node.results:
                for more in self._match(first, ref, state):
                    yield from self._more_roots(others, [*roots, ref], more)

    def _match(self, pattern: Pattern, ref: Ref, state: State) -> Iterator[State]:
        bound = state.bound.get(pattern)
        if bound is not None:
            if bound is ref:
                yield state
            else:
                self._note(state, f"{pattern} stands for one value, and would be both {bound} and {ref}")
            return
        for found in self._inside(pattern, ref, state):
            reason = next(filter(None, (constraint(ref) for constraint in pattern.constraints)), None)
            if reason is None:
                yield found.binding(pattern, ref)
            else:
                self._note(found, f"{ref}: {reason}")

    def _inside(self, pattern: Pattern, ref: Ref, state: State) -> Iterator[State]:
        if isinstance(pattern, OpPattern):
            yield from self._op(pattern, ref, state)
        elif isinstance(pattern, Alternatives):
            for choice in pattern.choices:
                yield from self._match(choice, ref, state)
        elif isinstance(pattern, Repeated):
            for choice in pattern.choices():
                yield from self._match(choice, ref, state)
        elif isinstance(pattern, ConstantPattern):
            if ref.is_constant:
                yield state
            else:
                self._note(state, f"expected a constant, found {ref}")
        else:
            yield state

    def _op(self, pattern: OpPattern, ref: Ref, state: State) -> Iterator[State]:
        node = ref.node
        if node is None or node.name not in pattern.names:
            self._note(state, f"expected {pattern}, found {ref}")
            return
        if node in self.taken:
            self._note(state, f"{node} is taken by another group")
            return
        if not node.is_pure:
            self._note(state, f"{node} is no graph op, and no kernel that is known to do what one does")
            return
        if pattern.operands is None:
            yield state.taking(node)
            return
        operands = pattern.operands
        if len(operands) == 1 and isinstance(operands[0], EachOperand):
            operands = tuple(operands[0].make() for _ in node.operands)
        if len(operands) != len(node.operands):
            self._note(state, f"{node} has {len(node.operands)} operands, the pattern {len(operands)}")
            return
        orders = [node.operands]
        if node.name in COMMUTATIVE and len(operands) == 2:
            orders.append(node.operands[::-1])
        for order in orders:
            yield from self._operands(list(zip(operands, order)), state.taking(node))

    def _operands(self, pairs: list[tuple[Pattern, Ref]], state: State) -> Iterator[State]:
        if not pairs:
            yield state
            return
        (pattern, ref), *others = pairs
        for found in self._match(pattern, ref, state):
            yield from self._operands(others, found)

    def _note(self, state: State, reason: str, furthest: int = 0) -> None:
        """Keeps the reason of the attempt that got furthest: what is against a pattern that matched as a whole takes precedence over what
        did not match, and a check's reason over both."""
        depth = len(state.nodes) + furthest
        if depth > self._why[0]:
            self._why = (depth, reason)


def _copied(state: State, roots: list[Ref]) -> frozenset[Node]:
    """The nodes of a match that compute a shared value that others read, too. None if that would need a value of the match's own."""
    inside, copied = set(state.nodes), set[Node]()
    own = {ref.node for ref in roots}
    waiting = [ref.node for pattern, ref in state.bound.items() if pattern.is_shared and ref.node in inside and ref.node not in own
               and any(user not in inside for user in ref.node.users)]
    while waiting:
        node = waiting.pop()
        if node in own:
            return frozenset()
        if node is not None and node in inside and node not in copied:
            copied.add(node)
            waiting += [ref.node for ref in node.operands]
    return frozenset(copied)


def all_matches(composites: Sequence[Composite], function: func.FuncOp, whose: str) -> list[Match]:
    """The matches of patterns, by priority, in a function of one block, in the order in which they run. LegatoError for a graph op in none
    of them."""
    matcher = Matcher(Graph(function))
    found = [match for one in composites for match in matcher.matches(one)]
    covered = {node for match in found for node in match.nodes}
    for node in matcher.graph.nodes:
        if node.is_pure and node not in covered:
            raise LegatoError(f"@{function.name.value} has {node}, which no pattern of {whose} matches: "
                              f"{matcher.refusal_at(node) or 'they end in other ops'}")
    return sorted(found, key=lambda match: match.nodes[-1].position)
