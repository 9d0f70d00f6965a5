"""The ONNX importer: ``from_onnx``."""
import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from legato.core import search
from legato.core.collector import seldom_collecting
from legato.core.dtypes import spelling
from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.core.weights import WeightStore
from legato.dialects import load_dialects, make_context
from legato.dialects.module import Module
from legato.dialects.relax.dims import symbols
from legato.dialects.relax.markers import CONSTANT_INPUTS, DEFAULT, INPUT_FORMS, NAME, OUTPUT_FORMS
from legato.dialects.relax.type_index import indexed_types
from legato.frontends.onnx.broadcasting import agreed_sizes
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.forms import Inputs, ModelForm, Shapes, is_sequence, outputs, rows
from legato.frontends.onnx.graph import check_names, check_text
from legato.frontends.onnx.importer import Importer
from legato.frontends.onnx.initialized import Initialized, Overridable
from legato.frontends.onnx.inputs import input_types
from legato.frontends.onnx.ops import ENTRIES
from legato.frontends.onnx.problems import Malformed, Problem, Problems, Refused
from legato.frontends.onnx.reader import ModelSource, check_opset, opsets_of, read_model, with_assumed
from legato.frontends.onnx.registry import onnx_op, registered
from legato.frontends.onnx.scope import Scope
from legato.frontends.onnx.sequences import DecidedOptional, EmptyOptional, PackedSequence, SequenceValue
from legato.frontends.onnx.stand_ins import StandIns
from legato.frontends.onnx.tensors import dtype_of
from legato.frontends.onnx.values import POISON, ComputedValue, Emitter, Value

Sequences = (SequenceValue, PackedSequence)
MANY_NODES = 500    # of a graph in which searches pay to be compiled

LOGGER = logging.getLogger(__name__)

__all__ = ["Entry", "Malformed", "Problem", "Refused", "from_onnx", "onnx_op", "op"]


def from_onnx(
    model: "str | os.PathLike[str] | bytes | onnx.ModelProto",
    *,
    shapes: Shapes | None = None,
    context: Any = None,   # an ir.Context, which the bindings' stubs do not have
    entries: Sequence[Entry] = (),
    overridable: Overridable = (),
) -> Module:
    """Imports an ONNX model as a relax function ``main`` with its weights.

    ``model``: the path of a file, its bytes, or the protobuf. External data is memory-mapped from the files beside the model. ``shapes``
    replaces the declared shapes of inputs, by name: sizes are ints, or names (or expressions of names, ``"past + seq"``) for dynamic
    sizes; a size given for a named dimension replaces that dimension in all inputs. For an input that is a sequence it says the number of
    tensors, or lists their shapes, for an optional without a value None. Legato's dialects are loaded into ``context``; by
    default a new context is made. ``entries`` adds ops for this import only, or replaces some: ``@op("MyOp", 1, domain="my.domain")``;
    ``legato.onnx_op`` registers them for all imports of the process. ``overridable``: the names of initializers that calls of the compiled
    model may give another value, or True for all that the model lists among its inputs, too, which are constants otherwise. They become
    the last inputs, each with its initializer as the default.

    A model whose nodes draw random numbers gets one more input behind all others, the integer ``random_seed``, 0 by default: calls with the
    same seed draw the same numbers.

    Arguments and results carry the model's names (``relax.name``); ops have the names of their nodes as locations.

    UnsupportedError lists all nodes that Legato cannot import. LegatoError: the file is missing, or is not a valid ONNX model.
    """
    source = read_model(model, whole=False)
    with seldom_collecting():
        try:
            return import_model(source, shapes=shapes, context=context, entries=entries, overridable=overridable)
        finally:
            if source.reads is not None:
                source.reads.finish()


def import_model(source: ModelSource, *, shapes: Shapes | None = None, context: ir.Context | None = None,
                 entries: Sequence[Entry] = (), stand_ins: StandIns | None = None, overridable: Overridable = ()) -> Module:
    """``from_onnx`` for a model that is read already, whose initializers may lie in arrays. ``stand_ins``: for nodes that cannot be
    imported, where only the error is wanted."""
    label, graph = source.label, source.proto.graph
    opsets = opsets_of(source.proto, label)
    check_text(source.proto, label)
    check_names(graph, label)
    if not graph.output:
        raise LegatoError(f"{label} has no outputs: there is nothing to compute")
    loaded = load_dialects(make_context() if context is None else context)
    problems = Problems()
    with loaded, ir.Location.unknown(), indexed_types(), agreed_sizes() as agreed:
        initialized = Initialized(graph, overridable)
        inputs = Inputs([*initialized.required, *initialized.overridable], shapes, problems, initialized.constants)
        types = input_types(inputs.tensors, inputs.shapes, problems)
        if source.sizes_agree:      # not those that the importer names itself, which torch writes as operands of any size
            agreed.update(*(symbols(size) for type_ in types.values() if type_ is not None for size in type_.dims))
        module, function = _empty_main({name: t.ir() for name, t in types.items() if t is not None})
        weights = WeightStore()
        known = {**ENTRIES, **registered(), **{(entry.domain, entry.op_type): entry for entry in entries}}
        if len(graph.node) >= MANY_NODES:
            search.begin_other()
        importer = Importer(known, Emitter(function, weights), problems, source, stand_ins)
        try:
            check_opset(opsets)
        except Refused as reason:
            problems.append(Problem(label, "opset_import", "", None, str(reason)))
            importer.list_unknown(graph)
            problems.raise_all(label)
        importer.add_functions(source.proto.functions)
        importer.expansion.check_functions(graph, importer.functions)
        scope = Scope(with_assumed(opsets))
        arguments = iter(function.arguments)
        importer.add_initializers(graph, scope)
        defaults = initialized.defaults(scope.values, types, problems, weights)
        scope.values.update(inputs.values({name: POISON if t is None else ComputedValue(next(arguments)) for name, t in types.items()}))
        with ir.InsertionPoint(function.entry_block):
            try:
                results = importer.run(graph.node, [value.name for value in graph.output], scope)
            except Malformed as reason:     # of names: what is wrong with a node is among the problems
                raise LegatoError(str(reason)) from None
            _check_kinds(graph.output, results, problems)
            forms, returned = outputs(graph.output, results)
            _check_outputs(returned, problems, label, sizes=not shapes)
            problems.raise_all(label)
            if not returned:
                names = ", ".join(form.name for form in forms)
                raise LegatoError(f"{label} has no tensors among its outputs ({names}): there is nothing to compute")
            _return(function, [value.name for value, _ in returned], [value.emit(importer.emitter) for _, value in returned])
            made = importer.random.default(weights)
            for name, attribute in ((INPUT_FORMS, rows([*inputs.forms, *map(ModelForm, made)])), (OUTPUT_FORMS, rows(forms))):
                if attribute is not None:
                    function.attributes[name] = attribute
            _mark_initialized(function, defaults | made, initialized.constants)
    LOGGER.info("%s: %d nodes, opset %s, %d weights of %.1f MB", label, len(graph.node), opsets.get("", "none"), len(weights),
                weights.nbytes / 1e6)
    return Module(module, weights)


def _empty_main(arguments: Mapping[str, ir.Type]) -> tuple[ir.Module, func.FuncOp]:
    """A module with a function ``main`` of these arguments, without results and return yet."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", ir.FunctionType.get(list(arguments.values()), []))
    function.add_entry_block()
    function.attributes["arg_attrs"] = _named(arguments)
    return module, function


def _mark_initialized(function: func.FuncOp, defaults: Mapping[str, str], constants: Sequence[str]) -> None:
    """Says on main which arguments have a default, by the key of its weight, and which inputs of the model are constants."""
    if defaults:
        given = [{a.name: a.attr for a in ir.DictAttr(of)} for of in function.attributes["arg_attrs"]]
        for of in given:
            if of[NAME].value in defaults:
                of[DEFAULT] = ir.StringAttr.get(defaults[of[NAME].value])
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(of) for of in given])
    if constants:
        function.attributes[CONSTANT_INPUTS] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in constants])


def _return(function: func.FuncOp, names: Sequence[str], values: Sequence[ir.Value]) -> None:
    """Ends the function with these results."""
    func.ReturnOp(values)
    types = [value.type for value in values]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(function.type.inputs, types))
    function.attributes["res_attrs"] = _named(names)


def _named(names) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.DictAttr.get({NAME: ir.StringAttr.get(name)}) for name in names])


def _check_kinds(outputs: Sequence[onnx.ValueInfoProto], results: Sequence[Value], problems: Problems) -> None:
    """Adds a problem for each output that is declared a tensor and is a sequence, or the other way."""
    for declared, value in zip(outputs, results):
        kind = declared.type.WhichOneof("value")
        inner = value.value if isinstance(value, DecidedOptional) else value
        unknown = kind is None or value is POISON or isinstance(value, EmptyOptional)
        if unknown or is_sequence(declared.type) == isinstance(inner, Sequences):
            continue
        said, found = ("a sequence", "a tensor") if is_sequence(declared.type) else ("a tensor", "a sequence")
        reason = f"it is declared {said}, but the graph computes {found}"
        problems.append(Problem(declared.name, "output", "", None, reason, malformed=True))


def _check_outputs(outputs: Sequence[tuple[onnx.ValueInfoProto, Value]], problems: Problems, label: str, sizes: bool) -> None:
    """Adds a problem for each output whose declared element type is not that of its value, and warns of one whose declared shape is not;
    ``sizes``: compare sizes, too."""
    for declared, value in outputs:
        if value is POISON:
            continue
        if not _same_shape(declared.type.tensor_type, value, sizes):
            given = [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else "?") for dim in declared.type.tensor_type.shape.dim]
            warnings.warn(f"{label}: the shape of the output '{declared.name}' is declared {_listed(given)}, but the graph computes "
                          f"{_listed(value.dims)}", stacklevel=4)
        code = declared.type.tensor_type.elem_type
        if not code:
            continue
        try:
            promised = dtype_of(code)
        except (Refused, Malformed) as problem:
            problems.append(Problem(declared.name, "output", "", None, str(problem), isinstance(problem, Malformed)))
            continue
        if promised != value.dtype:
            reason = f"it is declared {spelling(promised)}, but the graph computes {spelling(value.dtype)}"
            problems.append(Problem(declared.name, "output", "", None, reason, malformed=True))


def _same_shape(declared: onnx.TypeProto.Tensor, value: Value, sizes: bool) -> bool:
    """Whether the value can have the declared shape: the rank, and with ``sizes`` those sizes that are known on both sides. A size of
    -1 is unknown."""
    if not declared.HasField("shape"):
        return True
    if len(declared.shape.dim) != len(value.dims):
        return False
    pairs = zip(declared.shape.dim, value.dims) if sizes else ()
    return all(dim.dim_value == size for dim, size in pairs if dim.HasField("dim_value") and dim.dim_value >= 0 and isinstance(size, int))


def _listed(sizes: Sequence) -> str:
    return f"[{', '.join(map(str, sizes))}]"
