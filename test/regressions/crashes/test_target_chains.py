"""Targets with several parents: ancestors are asked in the order in which Python looks through base classes."""
import itertools

import numpy as np
import pytest

import legato
from legato import kernels
from legato.dialects import Module
from legato.targets.catalog import Catalog
from legato.targets.registry import isolated

NAMES = ["a", "b", "c", "d"]


def chain_of(parents: dict[str, list[str]], name: str) -> list[str]:
    targets = [legato.Target(one, parents=tuple(of)) for one, of in parents.items()]
    return [t.name for t in Catalog(targets).resolve(name).chain()]


def order_of_classes(parents: dict[str, list[str]], name: str) -> list[str]:
    made: dict[str, type] = {}

    def class_of(one: str) -> type:
        if one not in made:
            made[one] = type(one, tuple(map(class_of, parents[one])), {})
        return made[one]

    return [cls.__name__ for cls in class_of(name).__mro__[:-1]]


def test_every_hierarchy_of_four_targets_is_ordered_as_python_orders_classes():
    choices = [[list(p) for n in range(level + 1) for p in itertools.permutations(NAMES[:level], n)] for level in range(4)]
    seen = {"ordered": 0, "refused": 0}
    for given in itertools.product(*choices):
        parents = dict(zip(NAMES, given))
        try:
            expected = order_of_classes(parents, "d")
        except TypeError:
            seen["refused"] += 1
            with pytest.raises(legato.LegatoError, match=r"target '\w': its parents \(.*\) do not agree on an order"):
                chain_of(parents, "d")
        else:
            seen["ordered"] += 1
            assert chain_of(parents, "d") == expected, parents
    assert seen["ordered"] > 50 and seen["refused"] > 5


def test_rules_and_options_of_the_nearer_parents_ancestors_come_before_generic():
    def times(factor):
        return lambda k, x, out: kernels.pointwise(k, out, [x], lambda e, x: e.mul(x, e.const(factor)))

    with isolated():
        base = legato.register_target(legato.Target("base", parents=("llvm",), options={"tiles": 1, "depth": 1}))
        legato.register_target(legato.Target("near", parents=("base",)))
        legato.register_target(legato.Target("side", parents=("base",), options={"tiles": 2}))
        both = legato.register_target(legato.Target("both", parents=("near", "side", "generic")))
        legato.legalize("relax.relu", target=base)(times(3.0))
        module = Module.parse('func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
                              '  %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}')
        executable = legato.compile(module, both)
        np.testing.assert_array_equal(executable(np.full(4, 2, np.float32)), np.full(4, 6, np.float32))
        assert str(executable.explain()).startswith(
            "target both{cpu=host threads=1 fuse-attention=true integer-contractions=true winograd=true strassen=true tiles=2 depth=1}: "
            "both -> near -> side -> base -> llvm -> cpu -> generic\n")


def test_a_hierarchy_without_an_order_is_refused_by_compile():
    module = Module.parse("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
    with pytest.raises(legato.LegatoError, match="'generic' before 'llvm'; name a target before its own parents"):
        legato.compile(module, legato.Target("wrong", parents=("generic", "llvm")))
