"""Support vectors, of the domain ``ai.onnx.ml``."""
import itertools

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx import regions
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.classical import floats_of, require_features, rows_of
from legato.frontends.onnx.ops.features import ML
from legato.frontends.onnx.ops.scores import POST_TRANSFORMS, labels_of, regressed, transformed
from legato.frontends.onnx.problems import Malformed, Refused

_F32 = np.dtype(np.float32)
_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
_SWEEPS = 100       # of the coupling of probabilities, at most, as libsvm and onnxruntime have it
_TOLERANCE = 0.005  # of the coupling, divided by the number of classes
_NEAREST = 1e-7     # of a pair's probability to 0 and 1


def _kernel(node, x: ir.Value, vectors: np.ndarray) -> ir.Value:
    """The kernel's value of each row and each support vector."""
    name = node.text("kernel_type", *_KERNELS)
    gamma, shift, degree = np.array([*node.numbers("kernel_params", []), 0, 0, 0][:3], np.float32)
    if name == "RBF":   # by differences: the difference of squares would lose what is near
        apart = relax.subtract(relax.expand_dims(x, axis=[1]), relax.expand_dims(node.constant_value(vectors), axis=[0]))
        return relax.exp(relax.multiply(relax.sum(relax.multiply(apart, apart), axis=[2]), node.literal(-gamma)))
    product = relax.matmul(x, node.constant_value(np.ascontiguousarray(vectors.T)))
    if name == "LINEAR":
        return product
    product = relax.add(relax.multiply(product, node.literal(gamma)), node.literal(shift))
    return relax.tanh(product) if name == "SIGMOID" else relax.power(product, node.literal(degree))


def _support_vectors(node, count: int) -> np.ndarray:
    """The support vectors: [count, features]. Requires rows to have as many features."""
    numbers = floats_of(node, "support_vectors")
    if numbers.size % count:
        raise Malformed(f"it has {numbers.size} numbers for {count} support vectors")
    vectors = numbers.reshape(count, -1)
    require_features(node, vectors.shape[1])
    return vectors


@op("SVMRegressor", 1, domain=ML)
def svm_regressor(node):
    """SVMRegressor: [rows, 1] of f32; of one class, 1 inside and -1 outside."""
    count, weights = node.integer("n_supports", 0), floats_of(node, "coefficients")
    x, rho = rows_of(node), floats_of(node, "rho")[:1]
    if count:
        values = _kernel(node, x, _support_vectors(node, count))
        if weights.size != count:
            raise Malformed(f"it has {weights.size} coefficients for {count} support vectors")
    else:
        node.only("kernel_type", "LINEAR")
        node.ignore("kernel_params", "support_vectors")
        require_features(node, weights.size)
        values = x
    score = relax.add(relax.matmul(values, node.constant_value(weights[:, None])), node.literal(rho))
    if node.flag("one_class"):
        score = relax.where(relax.greater(score, node.literal(0, _F32)), node.literal(1, _F32), node.literal(-1, _F32))
    return regressed(score, node.text("post_transform", *POST_TRANSFORMS))


@op("SVMClassifier", 1, domain=ML)
def svm_classifier(node):
    """SVMClassifier: the class, unless it is a string, and scores. The class is the first that most pairs of classes vote for. Scores are
    those of the pairs, positive for the first; of two classes the score with either sign; with ``prob_a`` the classes' probabilities."""
    labels, classes = labels_of(node, "classlabels", "classlabels_ints")
    slopes, shifts = floats_of(node, "prob_a", []), floats_of(node, "prob_b", [])
    post = node.text("post_transform", *(POST_TRANSFORMS if slopes.size or classes > 2 else ("NONE",)))
    counts = node.integers("vectors_per_class", [])
    total, pairs = sum(counts), list(itertools.combinations(range(classes), 2))
    if not total:
        raise Refused("a classifier without support vectors is not supported; LinearClassifier is one")
    weights, rho = floats_of(node, "coefficients"), floats_of(node, "rho")
    if len(counts) != classes or weights.size != (classes - 1) * total or rho.size != len(pairs):
        raise Malformed(f"it has {weights.size} coefficients, {rho.size} numbers rho and {len(counts)} numbers of vectors for {classes} "
                        f"classes and {total} support vectors")
    if slopes.size not in (0, len(pairs)) or shifts.size != slopes.size:
        raise Malformed(f"it has {slopes.size} numbers prob_a and {shifts.size} prob_b for {len(pairs)} pairs of classes")
    places = [slice(end - count, end) for count, end in zip(counts, itertools.accumulate(counts))]
    of_pairs, votes = np.zeros((total, len(pairs)), np.float32), np.zeros((len(pairs), classes), np.float32)
    for column, (a, b) in enumerate(pairs):
        for one, other in ((a, b - 1), (b, a)):     # a class has no coefficients against itself
            of_pairs[places[one], column] = weights.reshape(-1, total)[other, places[one]]
        votes[column, [a, b]] = 1, -1
    values = _kernel(node, rows_of(node), _support_vectors(node, total))
    scores = relax.matmul(relax.astype(values, dtype=np.float64), node.constant_value(of_pairs.astype(np.float64)))     # terms cancel
    scores = relax.astype(relax.add(scores, node.literal(rho.astype(np.float64))), dtype=_F32)
    firsts = relax.astype(relax.greater(scores, node.literal(0, _F32)), dtype=_F32)
    against = node.constant_value((votes < 0).sum(axis=0).astype(np.float32))
    chosen = relax.argmax(relax.add(relax.matmul(firsts, node.constant_value(votes)), against), axis=-1)
    if slopes.size:
        scores = _probabilities(node, relax.add(relax.multiply(scores, node.literal(slopes)), node.literal(shifts)), pairs)
    elif classes == 2:
        scores = relax.concat([relax.negative(scores), scores], axis=1)
    return None if labels is None else relax.take(node.constant_value(labels), chosen, axis=0), transformed(scores, post)


def _probabilities(node, scores: ir.Value, pairs: list[tuple[int, int]]) -> ir.Value:
    """Probabilities [rows, classes] from the scaled scores [rows, pairs], by Platt's scaling and the coupling of pairs of T.-F. Wu, C.-J.
    Lin and R. C. Weng ("Probability estimates for multi-class classification by pairwise coupling", algorithm 2)."""
    rows, classes = relax.TensorType.of(scores.type).dims[0], pairs[-1][1] + 1
    first = relax.clip(relax.sigmoid(relax.negative(scores)), min=_NEAREST, max=1 - _NEAREST)
    chances = relax.permute_dims(relax.concat([first, relax.subtract(node.literal(1, _F32), first)], axis=1), axes=[1, 0])
    against = np.zeros((classes, classes), np.int64)        # where the chance of the class of a row against that of a column lies
    for number, (a, b) in enumerate(pairs):
        against[a, b], against[b, a] = number, number + len(pairs)
    chances = relax.take(chances, node.constant_value(against), axis=0)                                     # [classes, classes, rows]
    apart = node.constant_value((1 - np.eye(classes, dtype=np.float32))[:, :, None])
    chances = relax.multiply(chances, apart)
    squares = relax.expand_dims(relax.sum(relax.multiply(chances, chances), axis=[0]), axis=[0])
    products = relax.negative(relax.multiply(chances, relax.permute_dims(chances, axes=[1, 0, 2])))
    form = relax.where(node.constant_value(np.eye(classes, dtype=bool)[:, :, None]), squares, products)
    even = relax.broadcast_to(node.literal(1 / classes, _F32), shape=[classes, rows])
    types = [relax.TensorType.of(even.type)]

    def sweep(_, before: list[ir.Value]) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
        going, found = _sweep(node, form, before[0], classes)
        return relax.greater(relax.sum(relax.astype(going, dtype=np.int64)), node.literal(0, np.int64)), [found], []

    limit = node.literal([_SWEEPS], np.int64)
    _, (found,), _ = regions.while_loop(node.emitter, limit, None, [even], sweep, types, (), 0, "loop")
    return relax.permute_dims(found, axes=[1, 0])


def _sweep(node, form: ir.Value, p: ir.Value, classes: int) -> tuple[ir.Value, ir.Value]:
    """Which columns of p, [classes, rows], are no minimum of the quadratic ``form`` [classes, classes, rows] yet; and p, in these columns
    after a step towards it along each class."""
    slopes = relax.sum(relax.multiply(form, relax.expand_dims(p, axis=[0])), axis=[1])
    value = relax.sum(relax.multiply(p, slopes), axis=[0])
    error = relax.max(relax.abs(relax.subtract(slopes, value)), axis=[0])
    going = relax.greater_equal(error, node.literal(_TOLERANCE / classes, _F32))
    number = node.constant_value(np.arange(classes)[:, None])

    def turn(at: regions.Turn, before: list[ir.Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        p, slopes, value = before
        row, slope = regions.slice_at(form, at.index), regions.slice_at(slopes, at.index)
        square = regions.slice_at(row, at.index)
        step = relax.divide(relax.subtract(value, slope), square)
        whole = relax.add(step, node.literal(1, _F32))
        gained = relax.multiply(step, relax.add(relax.multiply(step, square), relax.add(slope, slope)))
        value = relax.divide(relax.divide(relax.add(value, gained), whole), whole)
        p = relax.divide(relax.where(relax.equal(number, at.number), relax.add(p, step), p), whole)
        return [p, relax.divide(relax.add(slopes, relax.multiply(step, row)), whole), value], []

    (after, *_), _ = regions.loop(node.emitter, classes, [p, slopes, value], turn)
    return going, relax.where(going, after, p)


ENTRIES = (svm_regressor, svm_classifier)
