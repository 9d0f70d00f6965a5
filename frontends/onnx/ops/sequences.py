"""Sequences of different lengths, and updates of caches."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.run_time import counted


@op("TensorScatter", 24)
def tensor_scatter(node):
    """TensorScatter: each example's update is written into its cache from an index on (default 0); in circular mode it wraps around."""
    circular = node.text("mode", "linear", "circular") == "circular"
    axis = node.axis(node.integer("axis", -2), node.rank())
    if node.rank(1) != node.rank():
        raise Malformed(f"its update has rank {node.rank(1)}, its cache {node.rank()}")
    if axis == 0:
        raise Malformed("its axis is 0, which is that of the examples")
    return relax.scatter_nd(node.x(0), written_places(node, axis, circular), node.x(1))


def written_places(node, axis: int, circular: bool):
    """Where each slice of the update is written to: indices into the cache's axes up to and including ``axis``, in a last axis."""
    sizes, count = node.dims()[:axis], node.dims(1)[axis]
    behind = counted(count)
    if node.given(2):
        first = relax.expand_dims(relax.astype(node.x(2), dtype=np.int64), axis=list(range(1, axis + 1)))
        behind = relax.add(first, behind)
    if circular:
        behind = relax.mod(behind, size_value(node.dims()[axis]))
    around = [relax.expand_dims(counted(size), axis=list(range(1, axis - number + 1))) for number, size in enumerate(sizes)]
    shape = [*sizes, count]
    parts = [relax.expand_dims(relax.broadcast_to(part, shape=shape), axis=[len(shape)]) for part in (*around, behind)]
    return relax.concat(parts, axis=len(shape))


def size_value(size):
    """A size as a tensor of rank 0."""
    if isinstance(size, int):
        return relax.constant(np.array(size, np.int64))
    ones = relax.broadcast_to(relax.constant(np.ones((), np.int64)), shape=[size])
    return relax.sum(ones)


@op("ReverseSequence", 10, 28)
def reverse_sequence(node):
    """ReverseSequence: the first elements of each example's time axis, up to its length, are reversed; the rest stays."""
    batch, time = node.axis(node.integer("batch_axis", 1), node.rank()), node.axis(node.integer("time_axis", 0), node.rank())
    if {batch, time} != {0, 1}:
        raise Malformed(f"its batch_axis and time_axis must be 0 and 1, are {batch} and {time}")
    sizes = node.dims()
    node.require_shape(1, "sequence_lens", [sizes[batch]])
    places = relax.expand_dims(counted(sizes[time]), axis=[1 - time])
    lengths = relax.expand_dims(relax.astype(node.x(1), dtype=np.int64), axis=[1 - batch])
    mirrored = relax.subtract(relax.subtract(lengths, node.literal(1, np.int64)), places)
    from_ = relax.where(relax.less(places, lengths), mirrored, places)
    from_ = relax.expand_dims(from_, axis=list(range(2, node.rank()))) if node.rank() > 2 else from_
    return relax.gather_elements(node.x(), relax.broadcast_to(from_, shape=list(sizes)), axis=time)


ENTRIES = (tensor_scatter, reverse_sequence)
