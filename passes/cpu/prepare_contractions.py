"""Rewrites of kernels before CPU schedules, which transform scripts cannot express."""
from legato.analysis.structured import ContractionForm, StructuredKernel, StructuredKernels
from legato.analysis.structured.ops import producer
from legato.core.mlir import arith, func, ir, linalg, tensor
from legato.passes.cpu.expand_readers import expand_readers
from legato.passes.cpu.gather import gather_rows
from legato.targets.cpu.machine import Machine


def prepare(kernel: func.FuncOp, machine: Machine, kernels: StructuredKernels) -> None:
    """Rewrites one kernel for the schedules of CPUs."""
    for step in (expand_readers, gather_rows, tie_through_reshapes):
        if step(kernels.of(kernel)):
            kernels.drop(kernel)
    form = kernels.of(kernel).contraction
    if form is None or not any(form.extents[loop] is None for loop in form.dims):
        return
    kernels.drop(kernel)
    if not form.epilogue:
        add_reader(form)
    result = form.op.results[0]
    for reader in form.epilogue:
        read_first(reader.op, next(i for i, operand in enumerate(reader.op.operands) if operand == result))
        result = reader.op.results[0]


def read_first(reader: ir.Operation, place: int) -> None:
    """Makes operand number ``place`` the reader's first: tiling takes the tile sizes from the first operand that has them.

    The sizes of a slice of an argument could not be told apart from the contraction's own, and remainders would not be vectorized.
    """
    if not place:
        return
    operands, maps = list(reader.operands), list(reader.attributes["indexing_maps"])
    maps[0], maps[place] = maps[place], maps[0]
    reader.operands[0], reader.operands[place] = operands[place], operands[0]
    reader.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    block = reader.regions[0].blocks[0]
    first, other = block.arguments[0], block.arguments[place]
    spare = block.add_argument(first.type, reader.location)
    first.replace_all_uses_with(spare)
    types = first.type, other.type
    first.set_type(types[1])
    other.replace_all_uses_with(first)
    other.set_type(types[0])
    spare.replace_all_uses_with(other)
    block.erase_argument(len(block.arguments) - 1)


def tie_through_reshapes(kernel: StructuredKernel) -> bool:
    """Where a collapsed result is returned, makes the expanded output argument its destination, which saves a copy.

    Returns whether there is one.
    """
    block, changed = kernel.function.body.blocks[0], False
    results = list(block.operations[len(block.operations) - 1].operands)
    outputs = list(block.arguments)[len(block.arguments) - len(results):]
    for value, out in zip(results, outputs, strict=True):
        view = producer(value)
        if view is None or view.name != "tensor.collapse_shape":
            continue
        maker, made = producer(view.operands[0]), view.operands[0]
        if maker is None or not maker.name.startswith("linalg.") or not made.type.has_static_shape:
            continue
        place = len(maker.operands) - len(maker.results) + ir.OpResult(made).result_number
        start = producer(maker.operands[place])
        if start is not None and start.name == "tensor.empty":
            groups = [[dim.value for dim in group] for group in view.attributes["reassociation"]]
            with ir.InsertionPoint(maker), maker.location:
                maker.operands[place] = tensor.ExpandShapeOp(made.type, out, groups, [], list(made.type.shape)).result
            changed = True
    return changed


def add_reader(form: ContractionForm) -> None:
    """Gives a contraction of dynamic size a reader: it writes a tensor of its own, which is copied to its old destination.

    Tiling takes a reader's tile sizes from the result of another op as they are, and a contraction's own from slices, whose remainders it
    could not tile again. Vectorization removes the copy. The copy has an operand that it does not read: upstream erases one that is
    plainly the identity.
    """
    op, fill = form.op, producer(form.op.operands[2])
    filled = op if fill is None or fill.name != "linalg.fill" else fill
    place = len(filled.operands) - 1
    out = filled.operands[place]
    rank = out.type.rank
    with ir.InsertionPoint(filled), op.location:
        sizes = [tensor.DimOp(out, arith.ConstantOp(ir.IndexType.get(), d).result).result if out.type.is_dynamic_dim(d)
                 else out.type.get_dim_size(d) for d in range(rank)]
        empty = tensor.EmptyOp(sizes, out.type.element_type).result
    filled.operands[place] = empty
    with ir.InsertionPoint.after(op), op.location:
        element = out.type.element_type
        zero = "0" if isinstance(element, ir.IntegerType) else "0.0"
        unread = arith.ConstantOp(element, ir.Attribute.parse(f"{zero} : {element}")).result
        maps = [ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)]
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        maps = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
        copy = linalg.GenericOp([out.type], [op.results[0], unread], [out], maps, ir.ArrayAttr.get([parallel] * rank))
        block = copy.regions[0].blocks.append(element, element, element)
        with ir.InsertionPoint(block):
            linalg.YieldOp([block.arguments[0]])
    result = copy.results[0]
    for use in list(op.results[0].uses):
        if use.owner.operation != copy.operation:
            use.owner.operands[use.operand_number] = result
