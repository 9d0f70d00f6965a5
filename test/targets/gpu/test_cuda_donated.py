"""Donated inputs of models for NVIDIA's GPUs, on the stand-in for the driver: results in the memory of arguments, of the host or the
device."""
import numpy as np
import pytest
from device_tensors import address, on_device, on_host, wait
from standin import driver, prepared

import legato
from legato.codegen.jit import jit

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("nothing_is_left")

CACHE = 'tensor<?x4xf32, #relax.dims<["n", 4]>>'
# ``scaled`` in the place of x, and something else of x, which is read before; ``sum`` of its own memory
MODEL = f"""func.func @main(%x: {CACHE} {{relax.name = "x"}}, %y: {CACHE} {{relax.name = "y"}})
    -> ({CACHE} {{relax.name = "scaled"}}, {CACHE} {{relax.name = "sum"}}) {{
  %0 = "relax.add"(%x, %y) : ({CACHE}, {CACHE}) -> {CACHE} loc("total")
  %1 = "relax.cumsum"(%0) {{axis = 0}} : ({CACHE}) -> {CACHE}
  %2 = "relax.multiply"(%x, %1) : ({CACHE}, {CACHE}) -> {CACHE} loc("times")
  return %2, %1 : {CACHE}, {CACHE}
}}"""


@pytest.fixture(scope="module")
def lowered():
    return prepared(legato.donate(legato.Module.parse(MODEL), {"x": "scaled"}))


def operands(n):
    random = np.random.default_rng(n)
    return random.standard_normal((n, 4), np.float32), random.standard_normal((n, 4), np.float32)


def expected(x, y):
    total = (x + y).cumsum(0)
    return x * total, total


def check(results, wanted):
    for result, one in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, one, rtol=1e-5, atol=1e-5)


def test_results_in_the_arguments_memory(lowered):
    """The donated argument is the result: an array of the host, a tensor of the device, one that is not aligned, and either beside one of
    the other kind."""
    exe = jit(lowered.module, lowered.weights)
    for n in (5, 1, 0, 300):
        x, y = operands(n)
        wanted = expected(x, y)
        scaled, total = exe(given := x.copy(), y)
        assert scaled is given
        check((scaled, total), wanted)
        for shift in (0, 4):
            here = on_device(x, shift=shift)
            at = address(here)
            scaled, total = exe(here, on_device(y))
            assert scaled is here and address(scaled) == at
            check((on_host(scaled), on_host(total)), wanted)
        here = on_device(x)
        scaled, total = exe(here, y)
        assert scaled is here
        check((on_host(scaled), on_host(total)), wanted)
        scaled, total = exe(given := x.copy(), on_device(y))
        assert scaled is given
        wait()
        check((scaled, on_host(total)), wanted)


def test_the_function_itself_gives_the_tensor_back(lowered):
    """For callers in other languages, who have no Executable."""
    exe = jit(lowered.module, lowered.weights)
    x, y = operands(3)
    here = on_device(x)
    scaled, total = exe.function(here, on_device(y))
    assert address(scaled) == address(here)
    check((on_host(scaled), on_host(total)), expected(x, y))
    copy = x.copy()
    scaled, total = exe.function(copy, y)
    assert np.shares_memory(np.from_dlpack(scaled), copy)
    check((copy, np.from_dlpack(total)), expected(x, y))
    del scaled, total


def test_what_is_refused_and_what_fails(lowered):
    """Memory that another argument shares, on either side; what cannot be written. A call that fails gives nothing back, and the next one
    works."""
    exe = jit(lowered.module, lowered.weights)
    x, y = operands(6)
    here = on_device(x)
    for shared in (here, x):
        with pytest.raises(ValueError, match="argument 0 'x' is donated: a result takes its memory, which argument 1 'y' shares"):
            exe(shared, shared)
    fixed = x.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="is read-only"):
        exe(fixed, y)
    for name, given, match in (("cuLaunchKernel", lambda: x.copy(), "launching the kernel"),
                               ("cuMemcpyDtoHAsync_v2", lambda: x.copy(), "copying the results to the host"),
                               ("cuMemcpyDtoDAsync_v2", lambda: on_device(x, shift=4), "copying 'x', 96 bytes, to the device")):
        driver().standin_fail(name.encode(), 1, 1)
        with pytest.raises(RuntimeError, match=match):
            exe(given(), y)
    driver().standin_fail(b"cuMemcpyDtoDAsync_v2", 3, 1)      # after that of the argument, and main's own
    with pytest.raises(RuntimeError, match="copying a result to the memory of a donated argument"):
        exe(on_device(x, shift=4), y)
    check([on_host(one) for one in exe(here, y)], expected(x, y))
    del shared
