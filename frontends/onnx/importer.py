"""Translates the nodes of an ONNX graph to relax ops in one walk, and collects all problems."""
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import onnx

from legato.core.errors import ElementTypeError, InferenceError, LegatoError
from legato.core.mlir import ir
from legato.core.user_code import raised_in
from legato.frontends.onnx import functions
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.evaluated import evaluated
from legato.frontends.onnx.expansion import Expansion, FunctionId, TooManyNodesError
from legato.frontends.onnx.graph import initializers, live_nodes, node_name, reads
from legato.frontends.onnx.initializers import Initializers
from legato.frontends.onnx.node import Body, OnnxNode
from legato.frontends.onnx.objection import objection_to
from legato.frontends.onnx.ops.refusals import REASONS, reason_of
from legato.frontends.onnx.problems import ByDefinition, Malformed, Problem, Problems, Refused, Told, TryAgain, Undecided
from legato.frontends.onnx.random_keys import RandomKeys
from legato.frontends.onnx.reader import OLDEST_OPSET, ModelSource, canonical_domain, check_opset, opset_versions
from legato.frontends.onnx.schema_checks import check_arity, check_attribute_types, check_defined, check_references
from legato.frontends.onnx.scope import Scope
from legato.frontends.onnx.stand_ins import StandIns
from legato.frontends.onnx.values import POISON, ComputedValue, Emitter, Value, elements

_ONNX_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
_KEPT_IN_ONNX = {("", name) for name in (    # ops of onnxruntime that models have in ONNX's domain, version 1
    "Affine", "Crop", "ImageScaler", "MeanVarianceNormalization", "ParametricSoftplus", "Scale", "ScaledTanh",
    "SimplifiedLayerNormalization", "ThresholdedRelu",
)}  # fmt: skip


class Importer:
    """Imports nodes into the function of an Emitter. Problems are added to ``problems``, and the import continues."""

    def __init__(self, entries: Mapping[tuple[str, str], Entry], emitter: Emitter, problems: Problems, source: ModelSource,
                 stand_ins: StandIns | None = None):
        """``source``: the model. ``stand_ins``: for what is not imported, where only the problems are wanted."""
        self.entries, self.emitter, self.problems = entries, emitter, problems
        self.label, self.stand_ins = source.label, stand_ins
        self._initializers = Initializers(source)
        self.functions: dict[FunctionId, onnx.FunctionProto] = {}
        self.expansion = Expansion(source.label)
        self.random = RandomKeys(emitter.function, self._given(source.proto.graph))
        self._schema = cache(functions.schema_of)

    def add_functions(self, protos: Sequence[onnx.FunctionProto]) -> None:
        """Adds the model's own functions. LegatoError if two have the same name."""
        for proto in protos:
            key = (canonical_domain(proto.domain), proto.name, proto.overload)
            if self.functions.setdefault(key, proto) is not proto:
                raise LegatoError(f"{self.label}: two functions are called {proto.domain}.{proto.name}")

    def add_initializers(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Adds the graph's initializers to the scope."""
        for problem in self._initializers.add_to(scope, graph):
            self._add_problem(scope, problem)

    def run(self, nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], scope: Scope, label: str | None = None) -> list[Value]:
        """Imports the nodes that the outputs depend on, and returns the outputs' values. ``label``: of the graph in messages, the model's
        by default. Malformed for names that do not fit together."""
        order = live_nodes(list(nodes), outputs, scope.values, label or self.label)
        used = {name for node in order for name in reads(node)} | set(outputs)
        for name in used & scope.refused.keys():
            if scope.values.get(name) is POISON:
                self._add_problem(scope, scope.refused[name])
        for node in order:
            self._import(node, used, scope)
        return [scope.values[name] for name in outputs]

    def list_unknown(self, graph: onnx.GraphProto) -> None:
        """Adds a problem for each node that is not supported in any opset."""
        try:
            nodes = live_nodes(list(graph.node), [value.name for value in graph.output], self._given(graph), self.label)
        except Malformed:
            return
        for node in nodes:
            if canonical_domain(node.domain) or ("", node.op_type) in self.entries:
                continue
            known = (self._schema("", node.op_type, opset) for opset in (onnx.defs.onnx_opset_version(), OLDEST_OPSET))
            try:
                if (schema := next(filter(None, known), None)) is not None:
                    _check_defined(node.op_type, schema)
            except Refused as reason:
                self.problems.append(Problem(node_name(node), node.op_type, "", None, str(reason)))

    @staticmethod
    def _given(graph: onnx.GraphProto) -> set[str]:
        """The names in a graph that are not outputs of nodes."""
        return {value.name for value in graph.input} | set(initializers(graph))

    def body(self, graph: onnx.GraphProto, scope: Scope) -> Body:
        """A node's subgraph as a Python function: each call imports it at the insertion point. Its constants are created once."""
        inner = replace(scope, values=dict(scope.values), refused=dict(scope.refused))
        self.add_initializers(graph, inner)
        others = []
        for node in graph.node:
            if node.op_type == "Constant" and not canonical_domain(node.domain):
                self._import(node, set(node.output), inner)
            else:
                others.append(node)
        inputs, outputs = [value.name for value in graph.input], [value.name for value in graph.output]

        def run(arguments: Sequence[Value]) -> list[Value]:
            if len(arguments) != len(inputs):
                raise Malformed(f"its graph '{graph.name}' takes {len(inputs)} values, and is given {len(arguments)}")
            with self.expansion.copy():
                values = inner.values | dict(zip(inputs, arguments))
                results = self.run(others, outputs, replace(inner, values=values), f"its graph '{graph.name}'")
            if any(result is POISON for result in results):
                raise Told
            return results

        return run

    def _import(self, node: onnx.NodeProto, used: set[str], scope: Scope) -> None:
        """Imports one node, and gives all its outputs a value."""
        name, domain = scope.prefix + node_name(node), canonical_domain(node.domain)
        opset = scope.opsets.get(domain)
        problem = Problem(name, node.op_type, domain, opset, "")
        self.expansion.count(str(name))
        inputs = [scope.values[x] if x else None for x in node.input]
        wanted = [bool(output) and output in used for output in node.output]
        with ir.Location.name(scope.stands_for.name if scope.stands_for else name):
            try:
                results = self._results(node, domain, opset, inputs, wanted, scope, problem)
            except (TooManyNodesError, TryAgain):
                raise
            except Told:
                results = [POISON] * len(node.output)
            except (Refused, Malformed) as reason:
                results = self._failed(scope, problem, str(reason), isinstance(reason, Malformed), node)
            except MemoryError as error:
                results = self._failed(scope, problem, f"it needs more memory than there is: {error}", False, node)
            except LegatoError as error:
                cause = error.__cause__ if isinstance(error.__cause__, LegatoError) else error
                malformed = isinstance(cause, InferenceError) and cause.for_any_sizes and not isinstance(cause, ElementTypeError)
                malformed = malformed or self._objection(node, domain, opset, inputs, scope) is not None
                results = self._failed(scope, problem, str(cause), malformed, node)
            except Exception as error:
                entry = self.entries.get((domain, node.op_type))
                if entry is not None and (place := raised_in(error, entry.build)) is not None:
                    reason = f"its import raised {type(error).__name__}: {error} (at {place})"
                    raise LegatoError(str(replace(problem, reason=reason))) from error
                objection = self._objection(node, domain, opset, inputs, scope)
                if objection is None:
                    reason = f"internal error: its import raised {type(error).__name__}: {error}. Please report it, with the model"
                    raise LegatoError(str(replace(problem, reason=reason))) from error
                results = self._failed(scope, problem, f"ONNX does not allow it: {objection}", True, node)
        if self.stand_ins is not None:
            results = self._stood_in(node, results, inputs, scope, self.stand_ins)
        scope.values.update((output, result) for output, result in zip(node.output, results) if output)

    def _stood_in(self, node: onnx.NodeProto, results, inputs, scope: Scope, stand_ins: StandIns) -> list[Value]:
        """The outputs, with values for those that are missing in the main graph."""
        if any(value is POISON for value in inputs):
            stand_ins.behind.setdefault(scope.prefix + node_name(node))
        if scope.prefix or scope.stands_for is not None:
            return results
        return [stand_ins.value(name, self.emitter.function) if name and value is POISON else value
                for name, value in zip(node.output, results)]

    def _results(self, node, domain: str, opset: int | None, inputs, wanted: list[bool], scope: Scope, problem: Problem) -> list[Value]:
        """The values of the node's outputs; POISON for unused ones that were not built."""
        poisoned = any(value is POISON for value in inputs)
        own = self.functions.get((domain, node.op_type, node.overload))
        if own is not None:
            return [POISON] * len(wanted) if poisoned else self._call(own, node, inputs, wanted, scope, problem)
        if opset is None:
            raise Malformed(f"the model imports no version of the operator set '{domain or 'ai.onnx'}'")
        entry, schema = self.entries.get((domain, node.op_type)), self._schema(domain, node.op_type, opset)
        if schema is None and domain in _ONNX_DOMAINS and (domain, node.op_type) not in _KEPT_IN_ONNX:
            raise Malformed(f"opset {opset} has no such op")
        if schema is None and entry is None:
            overloads = [f"'{key[2]}'" for key in self.functions if key[:2] == (domain, node.op_type)]
            if overloads:
                raise Malformed(f"the model's function of this name has no overload '{node.overload}', it has {', '.join(overloads)}")
            raise Refused(reason_of(domain, node.op_type) or f"no op of the domain '{domain}' with this name is known. "
                          f"@legato.onnx_op({domain!r}, {node.op_type!r}) registers a function that imports it")
        version = schema.since_version if schema is not None else opset if domain not in _ONNX_DOMAINS else 1
        if entry is not None and not entry.supports(version):
            raise Refused(f"version {version} of this op is not supported, only {entry.supported}")
        if entry is None:
            _check_defined(node.op_type, schema)
        if schema is not None:
            check_arity(schema, node, inputs)
        if poisoned:
            return [POISON] * len(wanted)
        if not scope.active and scope.stands_for is None:
            check_references(node)
        attributes = functions.bound_attributes(node, scope.attributes)
        if schema is not None:
            check_attribute_types(schema, attributes)
        if entry is not None:
            with suppress(ByDefinition):
                return self._build(entry, version, node, inputs, attributes, wanted, scope)
        return self._expand(schema, opset, node, inputs, attributes, wanted, scope, problem)

    def _build(self, entry: Entry, version: int, proto, inputs, attributes, wanted: list[bool], scope: Scope) -> list[Value]:
        """The outputs built by the table's entry."""
        node = OnnxNode(
            proto, version, inputs, attributes, wanted, self.emitter,
            load=self._initializers.value,
            body=lambda graph: self.body(graph, scope),
            expansion=self.expansion,
            random=self.random,
        )  # fmt: skip
        results = _folded(entry, node)
        if results is None:
            results = entry.build(node)
        node.check_all_read()
        results = [evaluated(result, node) for result in (results if isinstance(results, (tuple, list)) else [results])]
        results += [None] * (len(wanted) - len(results))
        for index, (result, want) in enumerate(zip(results, wanted)):
            if want and result is None:
                raise Refused(f"its output {index} is used, which is not supported")
        names = (name or proto.op_type for name in proto.output)
        return [POISON if result is None else _value(result, inputs, name) for result, name in zip(results, names)]

    def _call(self, function: onnx.FunctionProto, node, inputs, wanted: list[bool], scope: Scope, problem: Problem) -> list[Value]:
        """Expands one of the model's own functions."""
        key = (canonical_domain(function.domain), function.name, function.overload)
        if key in scope.active:
            raise Malformed(f"the function {function.name} calls itself")
        attributes = functions.bound_attributes(node, scope.attributes, function.attribute_proto)
        unknown = attributes.keys() - set(function.attribute) - {default.name for default in function.attribute_proto}
        if unknown:
            raise Malformed(f"the function {function.name} has no attribute '{min(unknown)}'")
        opsets = opset_versions(function.opset_import, f"function {function.name}")
        check_opset(opsets)
        inner = Scope(opsets, {}, attributes, f"{problem.name}/", scope.stands_for, (*scope.active, key))
        return self._run_function(function, inputs, wanted, inner)

    def _expand(self, schema, opset: int, node, inputs, attributes, wanted: list[bool], scope: Scope, problem: Problem) -> list[Value]:
        """Expands an op by the function in its schema."""
        check_defined(schema, attributes)
        node = functions.with_attributes(node, attributes)
        function = functions.schema_function(schema, opset, node, inputs)
        if function is None:
            raise Refused("this op is not supported")
        attributes = {default.name: default for default in functions.schema_defaults(schema)} | attributes
        opsets = dict(scope.opsets) | {canonical_domain(entry.domain): entry.version for entry in function.opset_import}
        captured = functions.captured(node, function)
        values = {name: scope.values[name] for name in captured if name in scope.values}
        inner = Scope(opsets, values, attributes, "", scope.stands_for or problem, scope.active)
        return self._run_function(function, inputs, wanted, inner)

    def _run_function(self, function: onnx.FunctionProto, inputs, wanted: list[bool], inner: Scope) -> list[Value]:
        if len(inputs) > len(function.input) or len(wanted) > len(function.output):
            raise Malformed(f"the function {function.name} has {len(function.input)} inputs and {len(function.output)} outputs")
        redefined = {name for node in function.node for name in node.output} & set(function.input)
        if redefined:
            raise Malformed(f"in the function {function.name} a node defines '{min(redefined)}', which is an input")
        given = [*inputs, *[None] * (len(function.input) - len(inputs))]
        inner.values.update(zip(function.input, given))
        outputs = [name for name, want in zip(function.output, wanted) if want]
        with self.expansion.copy():
            results = iter(self.run(function.node, outputs, inner, f"the function {function.name}"))
        return [next(results) if want else POISON for want in wanted]

    def _failed(self, scope: Scope, problem: Problem, reason: str, malformed: bool, node: onnx.NodeProto) -> list[Value]:
        self._add_problem(scope, Problem(problem.name, problem.op, problem.domain, problem.opset, reason, malformed))
        return [POISON] * len(node.output)

    def _add_problem(self, scope: Scope, problem: Problem) -> None:
        """Adds the problem. A problem inside the expansion of an op is reported once, as one of the op itself."""
        whole = scope.stands_for
        if whole is not None:
            problem = Problem(whole.name, whole.op, whole.domain, whole.opset, f"by its definition it needs {problem.op}: {problem.reason}")
            if any((p.name, p.op) == (whole.name, whole.op) for p in self.problems):
                return
        if problem not in self.problems:  # the body of a loop reports it in each iteration
            self.problems.append(problem)

    def _objection(self, node: onnx.NodeProto, domain: str, opset: int | None, inputs, scope: Scope) -> str | None:
        schema = None if opset is None else self._schema(domain, node.op_type, opset)
        return None if schema is None else objection_to(node, schema, inputs, scope)


def _check_defined(op_type: str, schema: onnx.defs.OpSchema) -> None:
    """Refused unless the op, which has no entry, can be expanded by its schema."""
    if op_type in REASONS or not (schema.has_function or schema.has_context_dependent_function):
        raise Refused(REASONS.get(op_type, "this op is not supported"))


def _folded(entry: Entry, node: OnnxNode):
    """The outputs computed by the entry's fold; None if it has none, an input is unknown, or the fold cannot compute them.

    Invalid input that numpy rejects (an index out of range, sizes that do not fit) is left to ``build``, which has the better message.
    """
    if entry.fold is None or (arrays := node.known_inputs()) is None:
        return None
    try:
        with np.errstate(all="ignore"):
            results = entry.fold(node, *arrays)
    except (Undecided, IndexError, ValueError, ZeroDivisionError):
        return None
    if results is not None:
        node.read_all_inputs()
    return results


def _value(result, inputs, name: str) -> Value:
    """An entry's result as a Value. Symbolic elements have the element type of the first input."""
    if isinstance(result, Value):
        return result
    if isinstance(result, ir.Value):
        return ComputedValue(result)
    array = np.asarray(result)  # numpy returns scalars for arrays of rank 0
    return elements(array, inputs[0].dtype if array.dtype == object else array.dtype, name)
