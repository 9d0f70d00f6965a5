"""relax-legalize: ops that are equal but for the names of their symbols share a kernel, which each calls with its own sizes."""
import numpy as np

import legato
from legato.core.ir_helpers import find
from legato.dialects import tir
from legato.dialects.module import Module

RNG = np.random.default_rng(0)


def dims(*sizes):
    shape = "x".join("?" if isinstance(size, str) else str(size) for size in sizes)
    listed = ", ".join(f'"{size}"' if isinstance(size, str) else str(size) for size in sizes)
    return f"tensor<{shape}xf32, #relax.dims<[{listed}]>>"


def module(arguments, lines, results):
    """main of arguments by their sizes, with lines (name, op, operands, attributes, sizes of the operands, sizes of the result)."""
    types = {f"%{name}": dims(*sizes) for name, sizes in arguments.items()}
    text = [f"func.func @main({', '.join(f'{name}: {type_}' for name, type_ in types.items())}) -> "
            f"({', '.join(dims(*sizes) for *_, sizes in lines)}) {{"]
    for name, op, operands, attributes, sizes in lines:
        types[name] = dims(*sizes)
        text.append(f'{name} = "relax.{op}"({", ".join(operands)}) {{{attributes}}} : ({", ".join(types[one] for one in operands)}) -> '
                    f"{types[name]}")
    text.append(f"return {', '.join(results)} : {', '.join(types[one] for one in results)}\n}}")
    return Module.parse("\n".join(text))


def kernels(graph):
    lowered = legato.lower(graph, last="legalized")
    return sorted(kernel.name.value for kernel in tir.prim_funcs(lowered.module)), len(find(lowered.module.operation, "func.call"))


def slice_of(begin, end):
    return f'axes = array<i64: 0>, begin = #relax.dims<["{begin}"]>, end = #relax.dims<["{end}"]>'


def test_sizes_in_attributes_are_passed_in_their_order():
    lines = [("%a", "strided_slice", ["%x"], slice_of("n // 2", "m"), ("max(0, m - (n // 2))",)),
             ("%b", "strided_slice", ["%x"], slice_of("m // 2", "n"), ("max(0, n - (m // 2))",)),
             ("%c", "strided_slice", ["%x"], slice_of("n // 2", "n"), ("max(0, n - (n // 2))",))]
    graph = module({"x": (40,), "y": ("n",), "z": ("m",)}, lines, ["%a", "%b", "%c"])
    names, calls = kernels(graph)
    assert (len(names), calls) == (2, 3)     # the third slice has one symbol
    x, exe = RNG.standard_normal(40).astype(np.float32), legato.compile(graph)
    for n, m in ((10, 7), (9, 12), (12, 12)):
        found = exe(x, np.empty(n, np.float32), np.empty(m, np.float32))
        for ours, wanted in zip(found, (x[n // 2: m], x[m // 2: n], x[n // 2: n]), strict=True):
            np.testing.assert_array_equal(ours, wanted)


def test_symbols_that_are_equal_in_one_op_only_need_a_kernel_of_their_own():
    lines = [("%a", "add", ["%x", "%y"], "", ("n", "m")), ("%b", "add", ["%z", "%w"], "", ("m", "n")),
             ("%c", "add", ["%s", "%w"], "", ("n", "n"))]
    graph = module({"x": ("n", "m"), "y": ("m",), "z": ("m", "n"), "w": ("n",), "s": ("n", "n")}, lines, ["%a", "%b", "%c"])
    names, calls = kernels(graph)
    assert (len(names), calls) == (2, 3)
    exe = legato.compile(graph)
    for n, m in ((3, 5), (5, 3), (4, 4)):
        x, y, z, w, s = (RNG.standard_normal(shape).astype(np.float32) for shape in ((n, m), (m,), (m, n), (n,), (n, n)))
        for ours, wanted in zip(exe(x, y, z, w, s), (x + y, z + w, s + w), strict=True):
            np.testing.assert_array_equal(ours, wanted)


def test_a_word_of_an_attribute_is_no_symbol():
    """Symbols may be named like kinds of padding."""
    pads = "pads = array<i64: 1, 2>, mode = "
    lines = [("%a", "pad", ["%x"], pads + '"edge"', ("edge + 3",)), ("%b", "pad", ["%y"], pads + '"reflect"', ("reflect + 3",))]
    graph = module({"x": ("edge",), "y": ("reflect",)}, lines, ["%a", "%b"])
    assert len(kernels(graph)[0]) == 2
    x, y = (RNG.standard_normal(size).astype(np.float32) for size in (5, 6))
    for ours, wanted in zip(legato.compile(graph)(x, y), (np.pad(x, (1, 2), "edge"), np.pad(y, (1, 2), "reflect")), strict=True):
        np.testing.assert_array_equal(ours, wanted)


def test_expressions_in_place_of_symbols_share_a_kernel():
    """Unless their symbols stand in other sizes, too."""
    lines = [("%a", "strided_slice", ["%x"], slice_of("0", "n // 2"), ("n // 2",)),
             ("%b", "strided_slice", ["%y"], slice_of("0", "m // 3"), ("m // 3",)),
             ("%c", "negative", ["%a"], "", ("n // 2",)), ("%d", "negative", ["%b"], "", ("m // 3",))]
    graph = module({"x": ("n",), "y": ("m",)}, lines, ["%a", "%b", "%c", "%d"])
    names, calls = kernels(graph)
    assert (len(names), calls) == (3, 4) and sum("negative" in name for name in names) == 1
    exe = legato.compile(graph)
    for n, m in ((9, 4), (4, 9), (1, 2)):
        x, y = (RNG.standard_normal(size).astype(np.float32) for size in (n, m))
        for ours, wanted in zip(exe(x, y), (x[:n // 2], y[:m // 3], -x[:n // 2], -y[:m // 3]), strict=True):
            np.testing.assert_array_equal(ours, wanted)
