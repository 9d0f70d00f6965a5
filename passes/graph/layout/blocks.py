"""Blocks of positions that become channels, and channels that become such, of images with their channels last."""
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import dims


def moved_blocks(op: ir.Operation, image: ir.Value) -> ir.Value:
    """What a depth_to_space or space_to_depth makes of the image, [N, height, width, channels], in the same layout: one permutation, where
    channels stay neighbours."""
    attrs = relax.attributes_of(op)
    block, (n, h, w, c), (_, channels, rows, columns) = attrs["block"], dims(image.type), dims(op.results[0].type)
    if op.name == "relax.space_to_depth":
        split, axes = [n, rows, block, columns, block, c], [0, 1, 3, 2, 4, 5]
    elif attrs["mode"] == "DCR":
        split, axes = [n, h, w, block, block, channels], [0, 1, 3, 2, 4, 5]
    else:
        split, axes = [n, h, w, channels, block, block], [0, 1, 4, 2, 5, 3]
    return relax.reshape(relax.permute_dims(relax.reshape(image, split), axes), [n, rows, columns, channels])
