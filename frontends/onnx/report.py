"""``legato.onnx_report``: what of a model can be imported, op by op, and all that cannot, without compiling it."""
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from legato.core.errors import LegatoError
from legato.core.notebook import counted, html_table
from legato.frontends.onnx import import_model
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.forms import Shapes
from legato.frontends.onnx.initialized import Overridable
from legato.frontends.onnx.problems import Problem, some_of, spelled
from legato.frontends.onnx.reader import canonical_domain, opsets_of, read_model
from legato.frontends.onnx.stand_ins import StandIns

OpKey = tuple[str, str]     # domain, op type


@dataclass(frozen=True)
class OpSupport:
    """The nodes of one op in a model. ``op``: with its domain, if that is not ONNX's own; ``problems``: of those that cannot be imported.
    Of inputs, initializers and outputs ``op`` says that they are such, and ``nodes`` is 0."""

    op: str
    nodes: int
    problems: tuple[Problem, ...] = ()

    @property
    def reasons(self) -> list[str]:
        """Why nodes cannot be imported, with the names of some of them."""
        names: dict[str, list[str]] = {}
        for problem in self.problems:
            names.setdefault(problem.reason, []).append(problem.name)
        return [f"{some_of(of)}: {reason}" for reason, of in names.items()]


@dataclass(frozen=True)
class OnnxReport:
    """What of a model can be imported. ``model``: its name; ``opsets``: versions by domain; ``ops``: those with gaps first, then by the
    number of nodes; ``behind``: names of nodes that read what a gap leaves out, whose type is not known: only their op was checked."""

    model: str
    opsets: Mapping[str, int]
    ops: tuple[OpSupport, ...]
    behind: tuple[str, ...] = ()

    @property
    def gaps(self) -> tuple[OpSupport, ...]:
        """The ops with nodes that cannot be imported."""
        return tuple(one for one in self.ops if one.problems)

    @property
    def is_complete(self) -> bool:
        """Whether the whole model can be imported."""
        return not self.gaps

    def data(self) -> dict[str, Any]:
        """What ``json`` writes, as a value for ``json.dumps``."""
        ops = [{"op": one.op, "nodes": one.nodes,
                "problems": [{"name": p.name, "reason": p.reason, "malformed": p.malformed} for p in one.problems]} for one in self.ops]
        return {"model": self.model, "complete": self.is_complete, "opsets": dict(self.opsets), "ops": ops, "behind": list(self.behind)}

    def json(self) -> str:
        """The report as JSON: ``{"model", "complete", "opsets", "ops": [{"op", "nodes", "problems": [{"name", "reason", "malformed"}]}],
        "behind": [name]}``."""
        return json.dumps(self.data(), indent=2)

    def __str__(self) -> str:
        nodes, ops = sum(one.nodes for one in self.ops), [one for one in self.ops if one.nodes]
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in self.opsets.items())
        lines = [f"{self.model}: {counted(nodes, 'node')} of {counted(len(ops), 'op')}; opset {opsets}"]
        width = max((len(one.op) for one in self.ops), default=0)
        if self.is_complete:
            lines.append("all of them can be imported")
        else:
            places = sum(len(one.problems) for one in self.gaps)
            lines += [f"{counted(places, 'place')} in the way:", "", f"  {'op':{width}}  nodes  gaps  where and why"]
        for one in self.gaps:
            first, *others = one.reasons
            lines.append(f"  {one.op:{width}}  {one.nodes or '':5}  {len(one.problems):4}  {first}")
            lines += [f"  {'':{width}}  {'':5}  {'':4}  {reason}" for reason in others]
        if self.behind:
            lines += ["", f"not checked but for the op, since they read what is missing: {some_of(self.behind)}"]
        if whole := [f"{one.op} {one.nodes}" for one in self.ops if not one.problems]:
            lines += ["", f"without a gap: {', '.join(whole)}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(one.op, one.nodes, len(one.problems), "; ".join(one.reasons)) for one in self.ops]
        return html_table(("op", "nodes", "gaps", "where and why"), rows, str(self).partition("\n")[0])


def onnx_report(model: "str | os.PathLike[str] | bytes | onnx.ModelProto", *, shapes: Shapes | None = None,
                entries: Sequence[Entry] = (), overridable: Overridable = ()) -> OnnxReport:
    """What of an ONNX model can be imported: its ops with the numbers of their nodes, and every node, input and output that cannot, with
    the reason; nothing is compiled. The arguments are those of ``from_onnx``.

    What is behind a gap is checked by the types that the model declares or that ONNX infers; where these are not known, or ``shapes``
    changes them, only the op is.
    LegatoError: the file is missing, or is not an ONNX model.
    """
    source = read_model(model)
    stand_ins, problems = StandIns(source.proto, bool(shapes)), ()
    try:
        import_model(source, shapes=shapes, entries=entries, stand_ins=stand_ins, overridable=overridable)
    except LegatoError as error:
        problems = getattr(error, "problems", ())
        if not problems:
            raise
    counts = Counter(_ops(source.proto.graph.node, {_key(one): one for one in source.proto.functions}))
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(spelled(problem.domain, problem.op), []).append(problem)
    nodes = Counter({spelled(*key): count for key, count in counts.items()})
    ops = [OpSupport(op, nodes[op], tuple(found.get(op, ()))) for op in {**found, **nodes}]
    ops.sort(key=lambda one: (-len(one.problems), -one.nodes, one.op))
    opsets = dict(sorted(opsets_of(source.proto, source.label).items()))
    return OnnxReport(source.label, opsets, tuple(ops), tuple(stand_ins.behind))


def _key(function: onnx.FunctionProto) -> OpKey:
    return canonical_domain(function.domain), function.name


def _ops(nodes: Sequence[onnx.NodeProto], functions: Mapping[OpKey, onnx.FunctionProto]) -> Iterator[OpKey]:
    """The op of each node, also of those in bodies; of a call of the model's own function those of its nodes."""
    for node in nodes:
        key = canonical_domain(node.domain), node.op_type
        if key in functions:
            yield from _ops(functions[key].node, {name: one for name, one in functions.items() if name != key})
            continue
        yield key
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _ops(body.node, functions)
