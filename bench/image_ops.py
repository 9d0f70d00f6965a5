"""Ops on images and signals, of sizes that networks have and of unusual ones: ``CASES`` of ``bench.unknown_sizes``."""
from collections.abc import Iterator
from typing import Any

import numpy as np

from .single_ops import Case, Draw, absent, given, positive, real, whole, within


def conv(name: str, image: tuple[int, ...], weights: tuple[int, ...], op: str = "Conv", **attributes: Any) -> Case:
    """A convolution with constant weights."""
    return Case(name, op, [real(*image)], [real(*weights)], attributes, kept=1)


def pool(name: str, op: str, image: tuple[int, ...], window: int = 0, **attributes: Any) -> Case:
    """A pool of windows of one size along all axes; of the whole image where that is 0."""
    sizes = {"kernel_shape": [window] * (len(image) - 2)} if window else {}
    return Case(name, op, [real(*image)], (), {**sizes, **attributes}, kept=1)


def resize(name: str, image: tuple[int, ...], *scales: float, **attributes: Any) -> Case:
    """A Resize by constant scales of the axes behind channels."""
    return Case(name, "Resize", [real(*image)], [absent, given([1, 1, *scales], np.float32)], attributes, kept=1)


def quantized(name: str, image: tuple[int, ...], weights: tuple[int, ...], **attributes: Any) -> Case:
    """A QLinearConv of bytes."""
    filters = weights[0]
    constants = [given(0.02, np.float32), given(3, np.uint8), whole(-99, 99, *weights, dtype=np.int8),
                 given([0.02] * filters, np.float32), given([0] * filters, np.int8), given(0.5, np.float32), given(100, np.uint8)]
    return Case(name, "QLinearConv", [whole(0, 255, *image, dtype=np.uint8)], constants, attributes, kept=1)


def regions(count: int, size: float, numbered: bool) -> Draw:
    """Corners x1 <= x2, y1 <= y2 of regions up to some ``size``, behind the number of their image if they are ``numbered``."""
    def draw(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        corners = np.sort(np.abs(rng.standard_normal((count, 2, 2))) * size, axis=1).reshape(count, 4)
        return np.concatenate([np.zeros((count, 1 if numbered else 0)), corners], axis=1).astype(dtype)
    return draw


def maxima(*shape: int) -> Draw:
    """Places of windows of 2 by 2 of an image twice as high and wide, in order."""
    def draw(rng: np.random.Generator, _: np.dtype) -> np.ndarray:
        return np.sort(rng.choice(4 * int(np.prod(shape)), int(np.prod(shape)), False)).reshape(shape).astype(np.int64)
    return draw


def _convolutions() -> Iterator[Case]:
    yield conv("conv3", (1, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4)
    yield conv("conv3-unpadded", (1, 64, 56, 56), (64, 64, 3, 3))
    yield conv("conv3-256", (1, 256, 14, 14), (256, 256, 3, 3), pads=[1] * 4)
    yield conv("conv3-512", (1, 512, 7, 7), (512, 512, 3, 3), pads=[1] * 4)
    yield conv("conv3-to-3", (1, 32, 128, 128), (3, 32, 3, 3), pads=[1] * 4)
    yield conv("conv3-to-1", (1, 64, 256, 256), (1, 64, 3, 3), pads=[1] * 4)
    yield conv("conv3-hd", (1, 3, 1080, 1920), (16, 3, 3, 3), pads=[1] * 4)
    yield conv("conv3/2", (1, 64, 56, 56), (128, 64, 3, 3), strides=[2, 2], pads=[1] * 4)
    yield conv("conv3/2-one-sided", (1, 64, 56, 56), (64, 64, 3, 3), pads=[0, 0, 2, 2], strides=[2, 2])
    yield conv("conv3/4", (1, 64, 112, 112), (128, 64, 3, 3), strides=[4, 4])
    yield conv("conv3-dilated-2", (1, 64, 56, 56), (64, 64, 3, 3), pads=[2] * 4, dilations=[2, 2])
    yield conv("conv3-dilated-12", (1, 256, 33, 33), (256, 256, 3, 3), pads=[12] * 4, dilations=[12, 12])
    yield conv("conv3-dilated-36", (1, 256, 33, 33), (256, 256, 3, 3), pads=[36] * 4, dilations=[36, 36])
    yield conv("conv7/2", (1, 3, 224, 224), (64, 3, 7, 7), strides=[2, 2], pads=[3] * 4)
    yield conv("conv9-to-3", (1, 64, 128, 128), (3, 64, 9, 9), pads=[4] * 4)
    yield conv("conv9-of-1", (1, 1, 128, 128), (64, 1, 9, 9), pads=[4] * 4)
    yield conv("conv15", (1, 32, 64, 64), (32, 32, 15, 15), pads=[7] * 4)
    yield conv("conv1", (1, 256, 28, 28), (128, 256, 1, 1))
    yield conv("conv1-batch", (64, 64, 7, 7), (128, 64, 1, 1))
    yield conv("patches14", (1, 3, 518, 518), (384, 3, 14, 14), strides=[14, 14])
    yield conv("patches32", (1, 3, 224, 224), (768, 3, 32, 32), strides=[32, 32])
    yield conv("groups2-5x5", (1, 96, 27, 27), (256, 48, 5, 5), pads=[2] * 4, group=2)
    yield conv("groups16", (1, 256, 28, 28), (256, 16, 3, 3), pads=[1] * 4, group=16)
    yield conv("groups32", (1, 128, 28, 28), (128, 4, 3, 3), pads=[1] * 4, group=32)
    yield conv("depthwise31", (1, 128, 56, 56), (128, 1, 31, 31), pads=[15] * 4, group=128)
    yield conv("depthwise1x31", (1, 128, 56, 56), (128, 1, 1, 31), pads=[0, 15, 0, 15], group=128)
    yield conv("depthwise31x1", (1, 128, 56, 56), (128, 1, 31, 1), pads=[15, 0, 15, 0], group=128)
    yield conv("conv1d", (1, 80, 500), (384, 80, 3), pads=[1, 1])
    yield conv("conv1d-31", (1, 64, 4000), (64, 64, 31), pads=[15, 15])
    yield conv("conv1d-1000", (1, 1, 16000), (64, 1, 1000), pads=[500, 500])
    yield conv("conv1d-stft", (1, 1, 16000), (514, 1, 400), strides=[160])
    yield conv("conv1d-dilated", (1, 64, 4000), (64, 64, 3), pads=[512, 512], dilations=[512])
    yield conv("depthwise1d-dilated", (1, 512, 1000), (512, 1, 3), pads=[128, 128], dilations=[128], group=512)
    yield conv("conv3d-1x7x7", (1, 3, 8, 112, 112), (64, 3, 1, 7, 7), strides=[1, 2, 2], pads=[0, 3, 3, 0, 3, 3])
    yield conv("conv3d-3x1x1", (1, 64, 8, 56, 56), (64, 64, 3, 1, 1), pads=[1, 0, 0, 1, 0, 0])
    yield conv("depthwise3d", (1, 64, 8, 28, 28), (64, 1, 3, 3, 3), pads=[1] * 6, group=64)
    yield conv("transposed2", (1, 64, 28, 28), (64, 32, 2, 2), "ConvTranspose", strides=[2, 2])
    yield conv("transposed4", (1, 64, 28, 28), (64, 64, 4, 4), "ConvTranspose", strides=[2, 2], pads=[1] * 4)
    yield Case("deformed", "DeformConv", [real(1, 64, 32, 32), real(64, 64, 3, 3), real(1, 18, 32, 32)], (),
               {"pads": [1] * 4, "kernel_shape": [3, 3]}, kept=1, known=[1])


def _quantized() -> Iterator[Case]:
    yield quantized("q-conv3", (1, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4)
    yield quantized("q-conv3/2", (1, 64, 56, 56), (128, 64, 3, 3), pads=[1] * 4, strides=[2, 2])
    yield quantized("q-conv7/2", (1, 3, 224, 224), (64, 3, 7, 7), pads=[3] * 4, strides=[2, 2])
    yield quantized("q-conv1", (1, 256, 28, 28), (128, 256, 1, 1))
    yield quantized("q-depthwise", (1, 128, 28, 28), (128, 1, 3, 3), pads=[1] * 4, group=128)
    yield Case("conv-integer", "ConvInteger", [whole(0, 255, 1, 64, 28, 28, dtype=np.uint8)], [whole(-99, 99, 64, 64, 3, 3, dtype=np.int8)],
               {"pads": [1] * 4}, kept=1)


def _pools() -> Iterator[Case]:
    yield pool("max3/2", "MaxPool", (1, 64, 112, 112), 3, strides=[2, 2], pads=[1] * 4)
    yield pool("max5", "MaxPool", (1, 64, 40, 40), 5, strides=[1, 1], pads=[2] * 4)
    yield pool("max13", "MaxPool", (1, 256, 20, 20), 13, strides=[1, 1], pads=[6] * 4)
    yield pool("max64", "MaxPool", (1, 64, 128, 128), 64, strides=[1, 1])
    yield pool("max3-dilated", "MaxPool", (1, 64, 64, 64), 3, strides=[1, 1], dilations=[5, 5])
    yield pool("max1d-400", "MaxPool", (1, 64, 16000), 400, strides=[1])
    yield pool("max3d/2", "MaxPool", (1, 32, 16, 56, 56), 3, strides=[2] * 3, pads=[1] * 6)
    yield pool("average2/2", "AveragePool", (1, 64, 112, 112), 2, strides=[2, 2])
    yield pool("average7", "AveragePool", (1, 256, 28, 28), 7, strides=[1, 1], pads=[3] * 4)
    yield pool("average32", "AveragePool", (1, 64, 128, 128), 32, strides=[1, 1])
    yield pool("lp5/2", "LpPool", (1, 64, 64, 64), 5, strides=[2, 2], p=3)
    yield pool("global-average", "GlobalAveragePool", (1, 2048, 7, 7))
    yield pool("global-max", "GlobalMaxPool", (8, 512, 14, 14))
    yield pool("global-lp", "GlobalLpPool", (8, 512, 14, 14), p=2)
    yield Case("unpool", "MaxUnpool", [real(1, 64, 32, 32), maxima(1, 64, 32, 32)], (), {"kernel_shape": [2, 2], "strides": [2, 2]}, kept=1)


def _norms() -> Iterator[Case]:
    yield Case("batch-norm", "BatchNormalization", [real(1, 64, 56, 56)], [real(64)] * 3 + [positive(64)], kept=1)
    yield Case("instance-norm", "InstanceNormalization", [real(1, 64, 56, 56)], [real(64)] * 2, kept=1)
    yield Case("instance-norm-3d", "InstanceNormalization", [real(1, 32, 16, 32, 32)], [real(32)] * 2, kept=1)
    yield Case("group-norm", "GroupNormalization", [real(1, 64, 56, 56)], [real(64)] * 2, {"num_groups": 8}, kept=1)
    yield Case("lrn5", "LRN", [real(1, 96, 55, 55)], (), {"size": 5}, kept=1)
    yield Case("lrn31", "LRN", [real(1, 256, 27, 27)], (), {"size": 31}, kept=1)
    yield Case("mean-variance-norm", "MeanVarianceNormalization", [real(4, 64, 32, 32)], kept=1)


def _resampled() -> Iterator[Case]:
    yield resize("resize-linear", (1, 64, 56, 56), 2, 2, mode="linear")
    yield resize("resize-nearest", (1, 64, 56, 56), 2, 2, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    yield resize("resize-cubic", (1, 3, 224, 224), 2, 2, mode="cubic")
    yield resize("resize-antialiased", (1, 64, 128, 128), 0.4, 0.4, mode="linear", antialias=1)
    yield resize("resize-3d", (1, 16, 16, 32, 32), 2, 2, 2, mode="linear")
    yield Case("grid", "GridSample", [real(1, 64, 64, 64), within(-1, 1, 1, 64, 64, 2)], kept=1)
    yield Case("grid-3d", "GridSample", [real(1, 8, 16, 32, 32), within(-1, 1, 1, 16, 32, 32, 3)], kept=1)
    yield Case("roi-align", "RoiAlign", [real(1, 256, 50, 50), regions(100, 12, False), given(np.zeros(100, np.int64))], (),
               {"output_height": 7, "output_width": 7, "sampling_ratio": 2}, kept=1)
    yield Case("roi-pool", "MaxRoiPool", [real(1, 64, 50, 50), regions(50, 12, True)], (), {"pooled_shape": [7, 7]}, kept=1)
    yield Case("depth-to-space2", "DepthToSpace", [real(1, 64, 56, 56)], (), {"blocksize": 2}, kept=1)
    yield Case("depth-to-space4", "DepthToSpace", [real(1, 48, 128, 128)], (), {"blocksize": 4}, kept=1)
    yield Case("depth-to-space4-crd", "DepthToSpace", [real(1, 48, 128, 128)], (), {"blocksize": 4, "mode": "CRD"}, kept=1)
    yield Case("space-to-depth4", "SpaceToDepth", [real(1, 3, 512, 512)], (), {"blocksize": 4}, kept=1)
    for mode in ("reflect", "edge", "wrap"):
        yield Case(f"pad-{mode}", "Pad", [real(1, 64, 64, 64)], [given([0, 0, 3, 3] * 2)], {"mode": mode}, kept=1)
    yield Case("center-crop", "CenterCropPad", [real(1, 64, 100, 100)], [given([64, 128])], {"axes": [2, 3]}, kept=1)
    yield Case("col2im", "Col2Im", [real(1, 64 * 9, 56 * 56)], [given([56, 56]), given([3, 3])], {"pads": [1] * 4}, kept=1)


def _signals() -> Iterator[Case]:
    yield Case("dft-1024", "DFT", [real(16, 1024, 1)])
    yield Case("dft-1009", "DFT", [real(16, 1009, 1)])
    yield Case("stft", "STFT", [real(1, 16000)], [given(160), given(np.hanning(400)), given(400)])


CASES = (*_convolutions(), *_quantized(), *_pools(), *_norms(), *_resampled(), *_signals())
