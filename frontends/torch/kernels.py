"""Kernels by which torch's exporter finds the sizes of results, replaced for as long as it runs.

torch has no public way: a kernel of ``torch.library`` replaces the one that models run, on all threads, and its exporter ignores it. What
reaches into torch for this is here alone.
"""
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.covariance import covariance
from legato.frontends.torch.plain_recurrent import recurrent_loops

aten = torch.ops.aten


@contextmanager
def own_kernels() -> Iterator[None]:
    """Replaces kernels by which torch finds the sizes of results. Those of LSTM, GRU and RNN become loops: others unroll the steps, and fix
    their number; torch's exporter has it so while it captures a module, but torch keeps a kernel that it has called before. Those of
    covariances look at no data. A torch that has no such loops, or keeps its kernels elsewhere, does without."""
    try:
        from torch.export import _patches  # pyright: ignore[reportMissingImports]
        kernels = {**recurrent_loops(), aten.cov.default: covariance}
        replaced = [_patches.register_lstm_while_loop_decomposition(), _patches.register_gru_while_loop_decomposition(),
                    *(_replaced(op, kernel) for op, kernel in kernels.items())]
    except (ImportError, AttributeError):
        yield
        return
    ops = [aten.lstm.input, aten.gru.input, *kernels]
    with ExitStack() as stack:
        stack.callback(_forget, ops)
        for one in replaced:
            stack.enter_context(one)
        _forget(ops)
        yield


def _replaced(op: Any, kernel: Callable[..., Any]) -> AbstractContextManager[None]:
    """A context in which torch computes the op by ``kernel`` where it traces. AttributeError of a torch that keeps kernels elsewhere."""
    kernels, key = op.py_kernels, torch._C.DispatchKey.CompositeImplicitAutograd

    @contextmanager
    def replacing() -> Iterator[None]:
        before = kernels.get(key)
        kernels[key] = kernel
        try:
            yield
        finally:
            if before is None:
                del kernels[key]
            else:
                kernels[key] = before

    return replacing()


def _forget(ops: list[Any]) -> None:
    """Lets torch look up the kernels of ops again."""
    for op in ops:
        getattr(op, "_dispatch_cache", {}).clear()
