"""Features of texts and signals: n-grams, mel filters, thresholds, columns."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.run_time_resize import as_f64, f64
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.tensors import dtype_of

ML = "ai.onnx.ml"
_MOST_STEPS = 256    # each is a comparison of its own


@op("TfIdfVectorizer", 9)
def tf_idf(node):
    """TfIdfVectorizer of integers: for each n-gram of the pool how often it occurs in a row, with gaps up to a limit; or its weight."""
    if node.has("pool_strings"):
        raise Refused("n-grams of strings are not supported, only of integers")
    pool, starts = node.integers("pool_int64s"), node.integers("ngram_counts")
    places, mode = node.integers("ngram_indexes"), node.text("mode", "TF", "IDF", "TFIDF")
    shortest, longest, gap = (node.integer(name) for name in ("min_gram_length", "max_gram_length", "max_skip_count"))
    grams = _grams(pool, starts)
    if sum(map(len, grams.values())) != len(places) or sorted(set(places)) != sorted(places) or not places:
        raise Malformed(f"it has {sum(map(len, grams.values()))} n-grams, and their places in the output are {places}")
    length = node.dims()[-1] if node.rank() else 0
    if node.rank() not in (1, 2):
        raise Malformed(f"its input must be a vector or a matrix, has the shape {list(node.dims())}")
    x = node.x() if node.rank() == 2 else relax.expand_dims(node.x(), axis=[0])
    columns = []
    for size, members in grams.items():
        counts = relax.broadcast_to(node.literal(0, np.float32), shape=[relax.TensorType.of(x.type).dims[0], len(members)])
        if shortest <= size <= longest and members:
            steps = gap + 1 if size > 1 else 1
            if isinstance(length, int):     # at greater ones no n-gram fits a row
                steps = min(steps, (length - 1) // (size - 1) if size > 1 else length)
            elif steps > _MOST_STEPS:
                raise Refused(f"max_skip_count = {gap} is not supported for rows of a length known only at run time, {length}: "
                              f"at most {_MOST_STEPS - 1}. Give them a known length (shapes=)")
            for step in range(1, steps + 1):
                counts = relax.add(counts, _occurrences(node, x, np.array(members), step))
        columns.append(counts)
    found = relax.concat(columns, axis=1) if len(columns) > 1 else columns[0]
    order = np.full(max(places) + 1, len(places))       # the place behind all: a column of zeros
    order[places] = np.arange(len(places))
    zeros = relax.broadcast_to(node.literal(0, np.float32), shape=[relax.TensorType.of(x.type).dims[0], 1])
    weights = np.float32(node.numbers("weights")) if node.has("weights") else np.ones(len(places), np.float32)
    if len(weights) != len(places):
        raise Malformed(f"it has {len(weights)} weights for {len(places)} n-grams")
    if mode == "IDF":
        found = relax.where(relax.greater(found, node.literal(0, np.float32)), node.literal(1, np.float32), found)
    if mode != "TF":
        found = relax.multiply(found, node.literal(weights))
    y = relax.take(relax.concat([found, zeros], axis=1), node.literal(order), axis=1)
    return y if node.rank() == 2 else relax.squeeze(y, axis=[0])


def _grams(pool: list[int], starts: list[int]) -> dict[int, list[list[int]]]:
    """The n-grams by their length. ``starts``: where those of each length begin in the pool."""
    found = {}
    for number, (begin, end) in enumerate(zip(starts, [*starts[1:], len(pool)])):
        size = number + 1
        if not 0 <= begin <= end <= len(pool) or (end - begin) % size:
            raise Malformed(f"ngram_counts = {starts} do not divide a pool of {len(pool)} into n-grams")
        found[size] = [pool[i:i + size] for i in range(begin, end, size)]
    return found


def _occurrences(node, x, members: np.ndarray, step: int):
    """How often each n-gram occurs in each row with its elements ``step`` apart: [rows, n-grams] of f32."""
    length, last = relax.TensorType.of(x.type).dims[1], (members.shape[1] - 1) * step
    same = None if isinstance(length, int) else relax.less(run_time.counted(length, start=last), run_time.vector(node, [length]))
    same = same if same is None else relax.expand_dims(same, axis=[0, 2])
    for place in range(0, last + 1, step):
        if isinstance(length, int):
            part = relax.strided_slice(x, begin=[place], end=[place + length - last], axes=[1])
        else:   # where a row ends before, its last element stands for those behind
            part = relax.take(x, relax.minimum(run_time.counted(length, start=place), run_time.vector(node, [length - 1])), axis=1)
        equal = relax.equal(relax.expand_dims(part, axis=[2]), node.literal(members[:, place // step], node.dtype()))
        same = equal if same is None else relax.logical_and(same, equal)
    return relax.sum(relax.astype(same, dtype=np.float32), axis=[1])


@op("MelWeightMatrix", 17)
def mel_weight_matrix(node):
    """MelWeightMatrix [bins of the spectrum, filters]: triangles between neighbouring frequencies, which are equidistant in mel."""
    bands, length, rate = (relax.reshape(relax.astype(node.x(i), dtype=np.int64), shape=[1]) for i in range(3))
    low, high = (relax.reshape(as_f64(node.x(i)), shape=[1]) for i in (3, 4))
    dtype = dtype_of(node.integer("output_datatype", 1))
    bins = relax.add(relax.floor_divide(length, run_time.literal(2)), run_time.literal(1))
    rows, columns = run_time.symbols(node, run_time.joined(bins, bands), "mel")

    def mel(hertz):
        return relax.multiply(f64(2595 / np.log(10)), relax.log(relax.add(f64(1), relax.divide(hertz, f64(700)))))

    step = relax.divide(relax.subtract(mel(high), mel(low)), as_f64(relax.add(bands, run_time.literal(2))))
    number = as_f64(run_time.counted(columns + 2))
    mels = relax.add(relax.multiply(number, step), mel(low))
    hertz = relax.multiply(f64(700), relax.subtract(relax.exp(relax.multiply(mels, f64(np.log(10) / 2595))), f64(1)))
    edges = relax.floor(relax.divide(relax.multiply(as_f64(relax.add(length, run_time.literal(1))), hertz), as_f64(rate)))
    left, middle, right = (relax.strided_slice(edges, begin=[i], end=[columns + i], axes=[0]) for i in range(3))
    place, one, zero = relax.expand_dims(as_f64(run_time.counted(rows)), axis=[1]), f64(1), f64(0)

    def slope(distance, width):
        return relax.divide(distance, relax.where(relax.equal(width, zero), one, width))

    rise, fall = relax.subtract(middle, left), relax.subtract(right, middle)
    rising = relax.where(relax.equal(rise, zero), one, slope(relax.subtract(place, left), rise))
    rising = relax.where(relax.logical_and(relax.greater_equal(place, left), relax.less_equal(place, middle)), rising, zero)
    falls = relax.logical_and(relax.greater_equal(place, middle), relax.less(place, right))
    return relax.astype(relax.where(falls, slope(relax.subtract(right, place), fall), rising), dtype=dtype)


@op("Binarizer", 1, domain=ML)
def binarizer(node):
    """Binarizer: 1 above the threshold, 0 elsewhere."""
    above = relax.greater(node.x(), node.literal(node.number("threshold", 0.0), node.dtype()))
    return relax.where(above, node.literal(1, node.dtype()), node.literal(0, node.dtype()))


@op("ArrayFeatureExtractor", 1, domain=ML)
def array_feature_extractor(node):
    """ArrayFeatureExtractor: the listed columns of the last axis."""
    x = node.x() if node.rank() > 1 else relax.expand_dims(node.x(), axis=[0])
    return relax.take(x, relax.reshape(node.x(1), shape=[-1]), axis=x.type.rank - 1)


def _places(node) -> int:
    """The number of elements of the size of an AffineGrid."""
    (count,) = node.dims(1) if node.rank(1) == 1 else (None,)
    if not isinstance(count, int):
        raise Refused(f"a size of the shape {list(node.dims(1))} is not supported, only a vector of a length known at import")
    return count


@op("AffineGrid", 20)
def affine_grid(node):
    """AffineGrid: the places of an image's pixels, from -1 to 1 along each axis, moved by a matrix: [n, (d,) h, w, 2 or 3]."""
    align, rank = node.flag("align_corners"), _places(node) - 2
    found = node.dims()[1:]
    if node.rank() != 3 or rank not in (2, 3) or any(isinstance(size, int) and size != rank + axis for axis, size in enumerate(found)):
        raise Malformed(f"its theta must have the shape [n, 2, 3] or [n, 3, 4] for a size of 4 or 5 elements, has {list(node.dims())}")
    for axis, size in enumerate(found):
        if size != rank + axis:
            node.require_equal(size, rank + axis, f"its theta to have {rank + axis} elements along axis {axis + 1}")
    if node.by_data(1):
        sizes = run_time.symbols(node, run_time.integers(node, 1, "sizes"), "size")
    else:
        sizes = node.sizes(1, "the size")
    if sizes[0] != node.dims()[0]:
        node.require_equal(sizes[0], node.dims()[0], f"the batch that it is to make, {sizes[0]}, to be that of its theta, {node.dims()[0]}")
    image = sizes[2:]
    parts = []
    for axis in reversed(range(rank)):
        number, size = as_f64(run_time.counted(image[axis])), as_f64(run_time.vector(node, [image[axis]]))
        if align:
            steps = relax.maximum(relax.subtract(size, f64(1)), f64(1))
            along = relax.subtract(relax.divide(relax.multiply(number, f64(2)), steps), f64(1))
        else:
            along = relax.subtract(relax.divide(relax.add(relax.multiply(number, f64(2)), f64(1)), size), f64(1))
        along = relax.expand_dims(along, axis=list(range(1, rank - axis))) if axis < rank - 1 else along
        parts.append(relax.expand_dims(relax.broadcast_to(along, shape=list(image)), axis=[rank]))
    parts.append(relax.broadcast_to(f64(1), shape=[*image, 1]))
    places = relax.reshape(relax.astype(relax.concat(parts, axis=rank), dtype=node.dtype()), shape=[relax.dims.product(image), rank + 1])
    theta = node.x() if found == (rank, rank + 1) else relax.reshape(node.x(), shape=[node.dims()[0], rank, rank + 1])
    grid = relax.matmul(places, relax.permute_dims(theta, axes=[0, 2, 1]))
    return relax.reshape(grid, shape=[node.dims()[0], *image, rank])


ENTRIES = (tf_idf, mel_weight_matrix, binarizer, array_feature_extractor, affine_grid)
