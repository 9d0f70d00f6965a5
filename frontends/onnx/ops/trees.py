"""Ensembles of decision trees: all trees descend for all rows at once, a level after the other, by gathers of constants."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.entry import Entry
from legato.frontends.onnx.ops.features import ML
from legato.frontends.onnx.ops.scores import POST_TRANSFORMS, decide, labels_of, regressed, transformed
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import MADE_ELEMENTS

_MODES = (     # by the numbers of TreeEnsemble
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
_LEAF, _MEMBER, _DEEPEST = 7, 6, 256


@dataclass(frozen=True)
class Forest:
    """Trees whose nodes are numbered together. ``roots`` [trees]; by node: the feature, the threshold, the mode (a place in ``_MODES``),
    whether NaN goes the way of what fulfils the condition, the two children, and ``weights`` [nodes, targets] of leaves. ``given``: which
    of the weights the model has."""

    roots: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    modes: np.ndarray
    missing: np.ndarray
    fulfilled: np.ndarray
    failed: np.ndarray
    weights: np.ndarray
    given: np.ndarray

    def depth(self) -> int:
        """The number of branches on the longest way. Malformed if a root or child is no node, or a way does not end."""
        count = len(self.modes)
        inner = self.modes != _LEAF
        if ((self.roots < 0) | (self.roots >= count)).any():
            raise Malformed(f"its trees begin at {self.roots.tolist()}, and it has the nodes 0 to {count - 1}")
        for children in (self.fulfilled, self.failed):
            if ((children < 0) | (children >= count))[inner].any():
                raise Malformed("a branch of a tree leads to a node that it does not have")
        level, depth = np.unique(self.roots), 0
        while (level := level[inner[level]]).size:
            depth += 1
            if depth > min(count, _DEEPEST):
                raise Malformed("a tree has a circle") if depth > count else Refused(f"a tree has more than {_DEEPEST} levels")
            level = np.unique([self.fulfilled[level], self.failed[level]])
        return depth

    def plain(self, dtype: np.dtype) -> "Forest":
        """The same decisions by two modes, x <= t and x == t; leaves lead to themselves."""
        modes, thresholds, own = self.modes, self.thresholds.astype(dtype), np.arange(len(self.modes))
        turned = np.isin(modes, (2, 3, 5))      # >=, >, != are the contrary of <, <=, ==
        below = np.nextafter(thresholds, dtype.type(-np.inf))
        below = np.where(thresholds == -np.inf, dtype.type(np.nan), below)  # nothing is less
        ends = modes == _LEAF   # NaN, which is unequal to all, fulfils != anyway
        return replace(
            self, thresholds=np.where(np.isin(modes, (1, 2)), below, thresholds), modes=np.where(np.isin(modes, (4, 5)), 4, 0),
            missing=(self.missing ^ turned) & ~ends & (modes != 5), features=np.where(ends, 0, self.features),
            fulfilled=np.where(ends, own, np.where(turned, self.failed, self.fulfilled)),
            failed=np.where(ends, own, np.where(turned, self.fulfilled, self.failed)))


def _leaves(node, forest: Forest) -> ir.Value:
    """The leaf of each tree for each row: [rows, trees] of int32."""
    if node.rank() != 2:
        raise Malformed(f"its input must be a matrix, has the shape {list(node.dims())}")
    dtype = node.dtype() if node.dtype() == np.float64 else np.dtype(np.float32)
    x = node.x() if kind(node.dtype()) == "float" else relax.astype(node.x(), dtype=dtype)
    rows, width = node.dims()
    depth, forest = forest.depth(), forest.plain(dtype)
    if ((forest.features < 0) | (isinstance(width, int) and forest.features >= width)).any():
        raise Malformed(f"a tree asks for feature {forest.features.max()}, and there are {width}")
    if not isinstance(width, int):
        node.require_at_least(width, int(forest.features.max()) + 1, "a tree to find its features")
    branches = np.stack([forest.failed, forest.fulfilled], axis=1).ravel().astype(np.int32)
    at = relax.broadcast_to(node.constant_value(forest.roots.astype(np.int32)), shape=[rows, len(forest.roots)])

    def of_node(values: np.ndarray) -> ir.Value:
        return relax.take(node.constant_value(np.ascontiguousarray(values)), at, axis=0)

    for _ in range(depth):
        value = relax.gather_elements(x, of_node(forest.features.astype(np.int32)), axis=1)
        threshold = of_node(forest.thresholds)
        taken = relax.less_equal(value, threshold)
        if forest.modes.any():
            taken = relax.where(of_node(forest.modes == 4), relax.equal(value, threshold), taken)
        if forest.missing.any():
            taken = relax.logical_or(taken, relax.logical_and(relax.isnan(value), of_node(forest.missing)))
        place = relax.add(relax.multiply(at, node.literal(2, np.int32)), relax.astype(taken, dtype=np.int32))
        at = relax.take(node.constant_value(branches), place, axis=0)
    return at


def _summed(node, forest: Forest, aggregate: str, base: np.ndarray) -> ir.Value:
    """The weights of the leaves over all trees, and the base values: [rows, targets]."""
    targets = forest.weights.shape[1]
    if base.size not in (0, 1, targets):
        raise Malformed(f"it has {base.size} base values for {targets} targets")
    if aggregate in ("MIN", "MAX") and not forest.given[forest.modes == _LEAF].all():
        raise Refused(f"aggregate_function = '{aggregate}' over leaves without a weight for each target is not supported")
    found = relax.take(node.constant_value(forest.weights), _leaves(node, forest), axis=0)
    reduce = relax.min if aggregate == "MIN" else relax.max if aggregate == "MAX" else relax.sum
    scores = reduce(found, axis=[1])
    if aggregate == "AVERAGE":
        scores = relax.divide(scores, node.literal(len(forest.roots), forest.weights.dtype))
    return relax.add(scores, node.literal(base, forest.weights.dtype)) if base.any() else scores


def _numbers(node, name: str, default: Sequence[float] | None = None) -> np.ndarray:
    """A list of floats, or the tensor of doubles that may be given in its place."""
    if node.has(f"{name}_as_tensor"):
        return np.asarray(node.tensor(f"{name}_as_tensor").array)
    return np.asarray(node.numbers(name) if default is None else node.numbers(name, default), np.float32)


def _of_lists(node, kind_of_leaf: str, targets: int) -> Forest:
    """The forest of a node of one list an attribute, as before version 5."""
    trees, numbers = np.array(node.integers("nodes_treeids")), np.array(node.integers("nodes_nodeids"))
    names = [mode.decode() if isinstance(mode, bytes) else mode for mode in node.strings("nodes_modes", [])]
    if unknown := set(names) - set(_MODES) | {"BRANCH_MEMBER"} & set(names):
        raise Malformed(f"a tree has a node of the mode '{min(unknown)}'")
    modes, count = np.array([_MODES.index(name) for name in names], np.int64), len(trees)
    place = {key: index for index, key in enumerate(zip(trees.tolist(), numbers.tolist()))}
    node.ignore("nodes_hitrates", "nodes_hitrates_as_tensor")
    features = np.array(node.integers("nodes_featureids"))
    children = [np.array(node.integers(f"nodes_{way}nodeids")) for way in ("true", "false")]
    thresholds = _numbers(node, "nodes_values")
    missing = np.array(node.integers("nodes_missing_value_tracks_true", []) or [0] * count, bool)
    if not count or any(len(each) != count for each in (numbers, modes, features, *children, thresholds, missing)) or len(place) != count:
        raise Malformed("its lists of nodes must have one length, and no node may be there twice")
    ways = [np.array([place.get(key, -1) for key in zip(trees.tolist(), each.tolist())]) for each in children]
    weights = _numbers(node, f"{kind_of_leaf}_weights")
    of = [node.integers(f"{kind_of_leaf}_{name}") for name in ("treeids", "nodeids", "ids")]
    if any(len(each) != len(weights) for each in of) or any(not 0 <= target < targets for target in of[2]):
        raise Malformed(f"its lists of weights must have one length, and targets below {targets}")
    table, given = np.zeros((count, targets), weights.dtype), np.zeros((count, targets), bool)
    for tree, number, target, weight in zip(*of, weights):
        if (tree, number) not in place:
            raise Malformed(f"a weight is for node {number} of tree {tree}, which it does not have")
        table[place[tree, number], target] += weight
        given[place[tree, number], target] = True
    first = np.sort(np.unique(trees, return_index=True)[1])     # a tree begins with its root
    entered = np.zeros(count, bool)
    for way in ways:
        entered[way[modes != _LEAF]] = True
    roots = np.array([np.flatnonzero((trees == trees[at]) & ~entered)[:1].tolist() or [at] for at in first]).ravel()
    return Forest(roots, features, thresholds, modes, missing, ways[0], ways[1], table, given)


def _regressor(node):
    targets = _targets(node, len(node.integers("nodes_nodeids")))
    forest = _of_lists(node, "target", targets)
    base, aggregate = _numbers(node, "base_values", []), node.text("aggregate_function", "SUM", "AVERAGE", "MIN", "MAX")
    scores = _summed(node, forest, aggregate, base)
    scores = regressed(scores, node.text("post_transform", *POST_TRANSFORMS))
    return scores if relax.TensorType.of(scores.type).dtype == np.float32 else relax.astype(scores, dtype=np.float32)


def _classifier(node):
    labels, count = labels_of(node, "classlabels", "classlabels_int64s")
    forest = _of_lists(node, "class", count)
    base, post = _numbers(node, "base_values", []), node.text("post_transform", *POST_TRANSFORMS)
    used = np.flatnonzero(forest.given.any(axis=0))
    single = count == 2 and len(used) == 1
    if single and base.size > 1:
        raise Refused("two base values beside weights of one class are not supported")
    if single and used[0] and base.size:
        raise Refused("a base value beside weights of the second class alone is not supported")
    if single:      # of which the other class is the complement
        forest = replace(forest, weights=forest.weights[:, used], given=forest.given[:, used])
    sums = _summed(node, forest, "SUM", base)
    positive = single and bool((forest.weights >= 0).all())
    chosen, scores = decide(sums, post, "probability" if positive else "sign" if single else "greatest")
    if single and used[0]:      # of the second class alone: onnxruntime has 0 for the first one, and no complement
        none = relax.broadcast_to(node.literal(0, forest.weights.dtype), shape=[node.dims()[0], 1])
        scores = transformed(relax.concat([none, sums], axis=1), post)
    if relax.TensorType.of(scores.type).dtype != np.float32:
        scores = relax.astype(scores, dtype=np.float32)
    return None if labels is None else relax.take(node.constant_value(labels), chosen, axis=0), scores


def _ensemble(node):
    """TreeEnsemble, whose leaves are numbered apart from its branches."""
    array = {name: np.asarray(node.tensor(name).array) for name in ("nodes_splits", "nodes_modes", "leaf_weights")}
    ints = {name: np.array(node.integers(name), np.int64) for name in (
        "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs", "leaf_targetids",
        "tree_roots")}
    count, leaves = len(ints["nodes_featureids"]), len(ints["leaf_targetids"])
    targets = _targets(node, count + leaves)
    node.ignore("nodes_hitrates")
    modes = array["nodes_modes"].astype(np.int64)
    if node.has("membership_values") or (modes == _MEMBER).any():
        raise Refused("branches by membership (BRANCH_MEMBER) are not supported")
    missing = np.array(node.integers("nodes_missing_value_tracks_true", []) or [0] * count, bool)
    lists = [array["nodes_splits"], modes, missing]
    lists += [ints[f"nodes_{way}{what}"] for way in ("true", "false") for what in ("nodeids", "leafs")]
    if any(len(each) != count for each in lists) or len(array["leaf_weights"]) != leaves or ((modes < 0) | (modes > _MEMBER)).any():
        raise Malformed("its lists of nodes must have one length, and so must those of its leaves")
    if ((ints["leaf_targetids"] < 0) | (ints["leaf_targetids"] >= targets)).any():
        raise Malformed(f"its leaves must have targets below {targets}")
    ways = [ints[f"nodes_{way}nodeids"] + np.where(ints[f"nodes_{way}leafs"], count, 0) for way in ("true", "false")]
    behind = np.zeros(leaves, np.int64)
    given = np.zeros((count + leaves, targets), bool)
    given[count + np.arange(leaves), ints["leaf_targetids"]] = True
    weights = np.zeros((count + leaves, targets), array["leaf_weights"].dtype)
    weights[count + np.arange(leaves), ints["leaf_targetids"]] = array["leaf_weights"]
    forest = Forest(ints["tree_roots"], np.append(ints["nodes_featureids"], behind), np.append(array["nodes_splits"], behind),
                    np.append(modes, behind + _LEAF), np.append(missing, behind.astype(bool)), np.append(ways[0], behind),
                    np.append(ways[1], behind), weights, given)
    aggregate = _named(node, "aggregate_function", 1, ("AVERAGE", "SUM", "MIN", "MAX"))
    post = _named(node, "post_transform", 0, ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"))
    return regressed(_summed(node, forest, aggregate, np.zeros(0)), post)


def _targets(node, nodes: int) -> int:
    """The number of targets, of which a table has as many for each of so many nodes."""
    targets = node.integer("n_targets")
    if targets < 1:
        raise Malformed(f"n_targets = {targets}: expected 1 or more")
    if nodes * targets > MADE_ELEMENTS:
        raise Refused(f"a table of {targets} targets for each of {nodes} nodes would be too large")
    return targets


def _named(node, attribute: str, default: int, names: tuple[str, ...]) -> str:
    """The name that the number in an attribute stands for."""
    number = node.integer(attribute, default)
    if not 0 <= number < len(names):
        raise Malformed(f"{attribute} = {number}: expected 0 to {len(names) - 1}, for {', '.join(names)}")
    return names[number]


ENTRIES = (
    Entry("TreeEnsembleClassifier", (1, 3, 5), _classifier, domain=ML), Entry("TreeEnsembleRegressor", (1, 3, 5), _regressor, domain=ML),
    Entry("TreeEnsemble", (5,), _ensemble, domain=ML),
)
