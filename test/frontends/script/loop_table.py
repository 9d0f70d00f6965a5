"""The table of kernels written as naive loops: what each raises to, or why it stays loops, and what numpy makes of the same inputs.

``RAISED``: kernel to (the structured ops it becomes, numpy's function). ``KEPT``: kernel to (words of the reason, numpy's function).
"""
import numpy as np

F = np.float32
RAISED, KEPT = {}, {}


def raises_to(*ops, by):
    """The structured ops that a kernel becomes, in order, without fills; ``by``: the oracle."""
    def note(kernel):
        RAISED[kernel] = ops, by
        return kernel
    return note


def stays(reason, by):
    def note(kernel):
        KEPT[kernel] = reason, by
        return kernel
    return note


def windows(x, size, stride, axes):
    """Views of all windows; the window's own dimensions are the last ones."""
    found = np.lib.stride_tricks.sliding_window_view(x, size, axes)
    return found[tuple(slice(None, None, stride) if a in axes else slice(None) for a in range(x.ndim))]
