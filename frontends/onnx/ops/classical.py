"""Linear models and the preparation of features, of the domain ``ai.onnx.ml``."""
import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.features import ML
from legato.frontends.onnx.ops.scores import POST_TRANSFORMS, decide, labels_of, regressed
from legato.frontends.onnx.problems import Malformed, Refused

_F32 = np.dtype(np.float32)


def _f32(x: ir.Value) -> ir.Value:
    return x if relax.TensorType.of(x.type).dtype == _F32 else relax.astype(x, dtype=_F32)


def floats_of(node, name: str, *default: list) -> np.ndarray:
    """An attribute of numbers as f32."""
    return np.array(node.numbers(name, *default), np.float32)


def rows_of(node) -> ir.Value:
    """The input as rows of f32; a vector is one row."""
    if node.rank() not in (1, 2):
        raise Malformed(f"its input must be a vector or a matrix, has the shape {list(node.dims())}")
    return _f32(node.x() if node.rank() == 2 else relax.expand_dims(node.x(), axis=[0]))


def require_features(node, count: int) -> None:
    """Malformed where rows have another number of features than the model; calls check what only they can tell."""
    node.require_shape(0, "input", [*node.dims()[:-1], count])


def _linear(node, targets: int) -> ir.Value:
    """The products with the coefficients of each target: [rows, targets]."""
    coefficients = floats_of(node, "coefficients")
    if not targets or coefficients.size % targets:
        raise Malformed(f"{coefficients.size} coefficients are none for each of {targets} targets")
    x = rows_of(node)
    require_features(node, coefficients.size // targets)
    scores = relax.matmul(x, node.constant_value(np.ascontiguousarray(coefficients.reshape(targets, -1).T)))
    intercepts = floats_of(node, "intercepts", [])
    if intercepts.size not in (0, targets):
        raise Malformed(f"it has {intercepts.size} intercepts for {targets} targets")
    return relax.add(scores, node.literal(intercepts)) if intercepts.size else scores


@op("LinearRegressor", 1, domain=ML)
def linear_regressor(node):
    """LinearRegressor: [rows, targets] of f32."""
    return regressed(_linear(node, node.integer("targets", 1)), node.text("post_transform", *POST_TRANSFORMS))


@op("LinearClassifier", 1, domain=ML)
def linear_classifier(node):
    """LinearClassifier: the class, unless it is a string, and the scores."""
    labels, count = labels_of(node, "classlabels", "classlabels_ints")
    width, post, targets = node.dims()[-1], node.text("post_transform", *POST_TRANSFORMS), len(node.numbers("intercepts", []))
    node.ignore("multi_class")
    if not targets:
        targets = len(node.numbers("coefficients")) // width if isinstance(width, int) and width else count
    if targets != count and (targets, count) != (1, 2):
        raise Malformed(f"it has scores for {targets} classes, and {count} labels")
    chosen, scores = decide(_linear(node, targets), post, "greatest" if targets == count else "sign of a complement")
    return None if labels is None else relax.take(node.constant_value(labels), chosen, axis=0), scores


@op("Scaler", 1, domain=ML)
def scaler(node):
    """Scaler: (x - offset) * scale, of f32."""
    offset, scale = (floats_of(node, name, []) for name in ("offset", "scale"))
    x = _f32(node.x())
    x = relax.subtract(x, node.literal(offset)) if offset.size else x
    return relax.multiply(x, node.literal(scale)) if scale.size else x


@op("Normalizer", 1, domain=ML)
def normalizer(node):
    """Normalizer: rows divided by a norm, or by their greatest element; those of norm 0 stay."""
    norm, rows = node.text("norm", "MAX", "L1", "L2"), rows_of(node)
    sizes = {"MAX": lambda: relax.max(rows, axis=[1], keepdims=True), "L1": lambda: relax.sum(relax.abs(rows), axis=[1], keepdims=True),
             "L2": lambda: relax.sqrt(relax.sum(relax.multiply(rows, rows), axis=[1], keepdims=True))}[norm]()
    sizes = relax.where(relax.equal(sizes, node.literal(0, _F32)), node.literal(1, _F32), sizes)
    found = relax.divide(rows, sizes)
    return found if node.rank() == 2 else relax.squeeze(found, axis=[0])


@op("Imputer", 1, domain=ML)
def imputer(node):
    """Imputer: other values in the place of one, which may be NaN."""
    whole = kind(node.dtype()) == "int"
    name, hole = ("int64", node.integer("replaced_value_int64", 0)) if whole else ("float", node.number("replaced_value_float", 0.0))
    values = node.integers("imputed_value_int64s", []) if whole else node.numbers("imputed_value_floats", [])
    width = node.dims()[-1] if node.rank() else 1
    if not values or (len(values) != 1 and isinstance(width, int) and len(values) != width):
        raise Malformed(f"imputed_value_{name}s has {len(values)} values for {width} features")
    found = relax.isnan(node.x()) if hole != hole else relax.equal(node.x(), node.literal(hole, node.dtype()))
    return relax.where(found, node.literal(values, node.dtype()), node.x())


def _mapping(node, side: str) -> np.ndarray:
    """The keys or values of a LabelEncoder."""
    if node.has(f"{side}_strings"):
        raise Refused("strings are not supported")
    if node.has(f"{side}_tensor"):
        return np.asarray(node.tensor(f"{side}_tensor").array)
    if node.has(f"{side}_int64s"):
        return np.array(node.integers(f"{side}_int64s"), np.int64)
    return floats_of(node, f"{side}_floats")


@op("LabelEncoder", 1, 2, 4, domain=ML)
def label_encoder(node):
    """LabelEncoder of numbers: the value of the first key that an element is, or the default."""
    if node.version == 1:
        raise Refused("strings are not supported")
    keys, values = _mapping(node, "keys").ravel(), _mapping(node, "values").ravel()
    if len(keys) != len(values) or not len(keys):
        raise Malformed(f"it has {len(keys)} keys and {len(values)} values")
    node.ignore("default_string")
    default = np.asarray(node.tensor("default_tensor").array).ravel()[0] if node.has("default_tensor") else (
        node.integer("default_int64", -1) if kind(values.dtype) == "int" else node.number("default_float", -0.0))
    node.ignore("default_int64", "default_float")
    x = relax.expand_dims(node.x(), axis=[node.rank()])
    same = relax.equal(x, node.constant_value(keys.astype(node.dtype())))
    if node.version >= 4 and keys.dtype.kind == "f" and np.isnan(keys).any():
        same = relax.logical_or(same, relax.logical_and(relax.isnan(x), node.constant_value(np.isnan(keys))))
    place = relax.argmax(relax.astype(same, dtype=np.int32), axis=-1)
    known = relax.max(relax.astype(same, dtype=np.int32), axis=[-1])
    found = relax.take(node.constant_value(values), place, axis=0)
    return relax.where(relax.greater(known, node.literal(0, np.int32)), found, node.literal(default, values.dtype))


@op("OneHotEncoder", 1, domain=ML)
def one_hot_encoder(node):
    """OneHotEncoder of numbers: a new last axis of f32, which is 0 for other categories; without ``zeros`` a call with one is an error."""
    if node.has("cats_strings"):
        raise Refused("strings are not supported")
    categories, x = np.array(node.integers("cats_int64s"), np.int64), node.x()
    x = relax.expand_dims(relax.astype(x, dtype=np.int64), axis=[node.rank()])
    found = relax.equal(x, node.constant_value(categories))
    if not node.flag("zeros", True):
        hits = relax.max(relax.astype(found, dtype=np.int64), axis=[-1])
        unknown = relax.reshape(relax.sum(relax.subtract(node.literal(1, np.int64), hits)), shape=[1])
        node.require_equal(run_time.symbols(node, unknown, "unknown")[0], 0, "all elements to be listed categories (zeros = 0)")
    return relax.astype(found, dtype=_F32)


@op("FeatureVectorizer", 1, domain=ML)
def feature_vectorizer(node):
    """FeatureVectorizer: the inputs beside each other, [rows, features] of f32; a vector is a column."""
    widths = node.integers("inputdimensions", [])
    columns = [_f32(x if relax.TensorType.of(x.type).rank == 2 else relax.expand_dims(x, axis=[1])) for x in node.xs()]
    for width, column in zip(widths, columns):
        found = relax.TensorType.of(column.type).dims[1]
        if found != width:
            node.require_equal(found, width, f"an input of {found} features to have {width}")
    return relax.concat(columns, axis=1) if len(columns) > 1 else columns[0]


@op("ZipMap", 1, domain=ML)
def zip_map(node):
    """ZipMap: refused, since its result is no tensor."""
    raise Refused("maps from classes to scores are not supported; skl2onnx leaves them out with options={'zipmap': False}")


ENTRIES = (
    linear_regressor, linear_classifier, scaler, normalizer, imputer, label_encoder, one_hot_encoder, feature_vectorizer, zip_map,
)
