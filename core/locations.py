"""The model's names for ops, stored in MLIR locations."""

from legato.core.mlir import ir


def model_name(op_or_location) -> str | None:
    """The first name in a location: looks inside call sites (callee first) and fused locations. None if it has no name.

    Accepts an operation, an op view, a value or a location.
    """
    location = op_or_location
    if isinstance(location, ir.Value):
        owner = location.owner
        location = owner.owner if isinstance(owner, ir.Block) else owner
    if not isinstance(location, ir.Location):
        location = location.location
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.CallSiteLoc):
        return model_name(location.callee) or model_name(location.caller)
    if isinstance(location, ir.FusedLoc):
        return next((name for name in map(model_name, location.locations) if name is not None), None)
    return None


def describe(op) -> str:
    """An op as messages print it: ``relax.conv2d "Conv_0"``, or ``relax.conv2d`` if the model has no name for it."""
    operation = op.operation
    name = model_name(operation)
    return operation.name if name is None else f'{operation.name} "{name}"'


def origin(value: ir.Value) -> str:
    """A value as messages print it: the result of its op, or the number of its block argument."""
    owner = value.owner
    if not isinstance(owner, ir.Block):
        return f"the result of {describe(owner)}"
    return f"argument {ir.BlockArgument(value).arg_number} of a block of {describe(owner.owner)}"
