"""Convolutions by one element of channels-first images, which need not be permuted."""
from typing import Any

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import dims
from legato.dialects.relax.sizes import product


def read_elements(image: ir.Value, weight: ir.Value, attrs: dict[str, Any]) -> tuple[ir.Value, list[int]]:
    """The image without what an unpadded convolution by one element steps over, which is not to be permuted, and the strides left."""
    steps = {axis: attrs["strides"][i] for i, axis in enumerate(spatial_axes(attrs["data_layout"]))}
    alone = all(dims(weight.type)[axis] == 1 for axis in spatial_axes(attrs["kernel_layout"]))
    if not alone or max(steps.values()) == 1:
        return image, attrs["strides"]
    sizes = dims(image.type)
    axes = [axis for axis, step in steps.items() if step != 1]
    read = relax.strided_slice(image, begin=[0] * len(axes), end=[sizes[axis] for axis in axes], strides=[steps[axis] for axis in axes],
                               axes=axes)
    return read, [1] * len(steps)


def as_product(image: ir.Value, weight: ir.Value, strides: list[int], attrs: dict[str, Any]) -> ir.Value | None:
    """An unpadded convolution by one element of a channels-first image of f32, with no more features than channels and pixels, as a product
    of its weights with the image as it is; None for another one."""
    batch, channels, *sizes = dims(image.type)
    features, inputs, *taps = dims(weight.type)
    plain = attrs["data_layout"].startswith("NC") and attrs["kernel_layout"].startswith("OI") and set(taps) == set(strides) == {1}
    if not plain or not isinstance(image.type.element_type, ir.F32Type):
        return None
    if not all(isinstance(size, int) for size in (channels, features, *sizes)):
        return None
    groups, pixels = attrs["groups"], product(sizes)
    if features > min(channels, pixels):
        return None
    own = [groups] if groups > 1 else []
    weights = relax.reshape(weight, [*own, features // groups, inputs])
    made = relax.matmul(weights, relax.reshape(image, [batch, *own, inputs, pixels]))
    return relax.reshape(made, [batch, features, *sizes])


def spatial_axes(letters: str) -> list[int]:
    """The spatial axes of a layout."""
    return [axis for axis, letter in enumerate(letters) if letter in "DHW"]
