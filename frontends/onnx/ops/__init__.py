"""The table of ONNX ops. To add an op, write an entry in a family's file and list it in that file's ENTRIES."""
from legato.frontends.onnx.entry import table
from legato.frontends.onnx.ops import (
    activations,
    arithmetic,
    attention,
    casts,
    constants,
    control,
    conv,
    detection,
    einsum,
    features,
    gather,
    integers,
    logic,
    loops,
    matmul,
    microsoft,
    microsoft_attention,
    microsoft_norm,
    microsoft_quantized,
    nbits,
    norm,
    pool,
    quantize,
    recurrent,
    reduce,
    regions,
    resize,
    sampling,
    scan,
    sequences,
    shape,
    slices,
    spectral,
    tensor_sequences,
    training,
    unary,
    unpool,
)

_FAMILIES = (
    activations, arithmetic, attention, casts, constants, control, conv, detection, einsum, features, gather, integers, logic, loops,
    matmul, microsoft, microsoft_attention, microsoft_norm, microsoft_quantized, nbits, norm, pool, quantize, recurrent, reduce, regions,
    resize, sampling, scan, sequences, shape, slices, spectral, tensor_sequences, training, unary, unpool,
)  # fmt: skip

ENTRIES = table(*(family.ENTRIES for family in _FAMILIES))
