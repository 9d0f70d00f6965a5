"""Random attentions of the domain com.microsoft."""
from typing import Any

import numpy as np
from drawn_nodes import Draw, DrawnNode

Array = np.ndarray


def present(inputs: list[Array | None]) -> list[Array | None]:
    """Inputs without those at the end that are left out."""
    while inputs[-1] is None:
        inputs.pop()
    return inputs


def key_mask(d: Draw, *shape: int) -> Array:
    """Of 0 and 1; the first key of each row is kept."""
    made = d.data.integers(0, 2, shape).astype(np.int32)
    made[..., 0] = 1
    return made


def first_keys(d: Draw, *shape: int) -> Array:
    """A mask of some keys, the first ones."""
    return np.broadcast_to(np.arange(shape[-1]) < d.data.integers(1, shape[-1] + 1), shape).astype(np.int32)


def multi_head(d: Draw) -> DrawnNode:
    batch, rows, keys, past = d.size(1, 2, 3), d.size(1, 3, 5, 8), d.size(1, 4, 7, 9), d.size(1, 2, 6)
    heads, depth = d.width(1, 2, 4), d.width(2, 8, 16)
    kind = d.rng.choice(("cross", "cross", "self", "past", "heads"))
    wide = depth if kind in ("self", "past") or d.some() else d.width(4, 6, 20)
    keys = rows if kind in ("self", "past") else keys
    is_long = kind in ("cross", "heads") and d.some(0.2)      # keys are several blocks, of which a mask may hide some
    keys = d.size(320, 512, 600, 640, 1024) if is_long else keys
    width, total = heads * depth, keys + (past if kind == "past" else 0)
    q, outputs = d.normal(batch, rows, width), ["y"]
    if kind == "heads":
        k, v = d.normal(batch, heads, keys, depth), d.normal(batch, heads, keys, wide)
    else:
        k, v = d.normal(batch, keys, width), d.normal(batch, keys, heads * wide)
    inputs: list[Array | None] = [q, k, v, d.weight(2 * width + heads * wide) if kind != "heads" and d.some(0.4) else None]
    kinds = [None, None, key_mask(d, batch, total), key_mask(d, batch, rows, total)]
    kinds += [np.minimum(d.data.integers(1, 10, batch), total).astype(np.int32)] if kind != "past" else []
    kinds = [first_keys(d, batch, total), first_keys(d, batch, rows, total)] if is_long else kinds
    inputs.append(d.rng.choice(kinds))
    bias = (d.rng.choice((batch, 1)), d.rng.choice((heads, 1)), rows, total)
    inputs.append(d.normal(*bias) if d.some(0.4) else None)
    if kind == "past":
        inputs += [d.normal(batch, heads, past, depth), d.normal(batch, heads, past, wide)]
        outputs += ["key", "value"]
    attributes: dict[str, Any] = {"num_heads": heads}
    attributes |= {"scale": d.rng.choice((0.2, 1.0))} if d.some(0.3) else {}
    attributes |= {"unidirectional": 1} if kind in ("self", "past") and d.some(0.4) else {}
    fillers = [-5000.0] if d.dtype != np.float32 else [-5000.0, float(np.finfo(np.float32).min)]
    attributes |= {"mask_filter_value": d.rng.choice(fillers)} if inputs[4] is not None and d.some(0.8 if is_long else 0.3) else {}
    kept = [3] if inputs[3] is not None and d.some(0.7) else []
    return DrawnNode("MultiHeadAttention", present(inputs), kept, outputs, tolerance=5 * d.tolerance, attributes=attributes)


def attention(d: Draw) -> DrawnNode:
    batch, rows, past = d.size(1, 2, 3), d.size(1, 3, 5, 8), d.size(1, 2, 6)
    heads, depth, features = d.width(1, 2, 4), d.width(2, 8, 16), d.width(4, 12)
    width, with_past = heads * depth, d.some(0.4)
    wide = width if with_past or d.some(0.7) else heads * d.width(1, 4, 5)
    total = rows + (past if with_past else 0)
    outputs = ["y", "present"] if with_past or (wide == width and d.some(0.2)) else ["y"]
    masks = [None, key_mask(d, batch, total), key_mask(d, batch, rows, total)]
    masks += [] if with_past else [np.minimum(d.data.integers(1, 10, batch), total).astype(np.int32)]
    inputs: list[Array | None] = [d.normal(batch, rows, features), d.weight(features, 2 * width + wide) * d.dtype.type(0.3),
                                  d.weight(2 * width + wide), d.rng.choice(masks)]
    inputs.append(d.normal(2, batch, heads, past, depth) if with_past else None)
    inputs.append(d.normal(d.rng.choice((batch, 1)), d.rng.choice((heads, 1)), rows, total) if d.some(0.3) and not with_past else None)
    attributes: dict[str, Any] = {"num_heads": heads}
    attributes |= {"scale": 0.2} if d.some(0.3) else {}
    attributes |= {"unidirectional": 1} if d.some(0.4) else {}
    attributes |= {"qkv_hidden_sizes": [width, width, wide]} if wide != width or d.some(0.2) else {}
    return DrawnNode("Attention", present(inputs), d.kept(1, 2), outputs, tolerance=5 * d.tolerance, attributes=attributes)


def rotary(d: Draw) -> DrawnNode:
    batch, rows, heads, half = d.size(1, 2, 3), d.size(1, 3, 5, 8), d.width(1, 2, 4), d.width(2, 4, 8)
    partial = d.some(0.3)
    depth = 2 * half + (d.width(2, 4) if partial else 0)
    flat = partial or d.some()
    x = d.normal(batch, rows, heads * depth) if flat else d.normal(batch, heads, rows, depth)
    cos, sin = d.weight(20, half), d.weight(20, half)
    places = d.data.integers(0, 20, (batch, rows)) if d.some(0.6) else d.data.integers(0, 12, 1)
    attributes: dict[str, Any] = {"interleaved": int(d.some(0.4))}
    if partial:
        attributes |= {"num_heads": heads, "rotary_embedding_dim": 2 * half}
    return DrawnNode("RotaryEmbedding", [x, places, cos, sin], d.kept(2, 3), tolerance=d.tolerance, attributes=attributes)


def grouped_query(d: Draw) -> DrawnNode:
    shared, depth = d.width(1, 2, 3), d.width(8, 16)
    heads = shared * d.width(1, 2, 4)
    step = d.rng.choice(("prompt", "prompt into room", "token", "token in room", "rows"))
    batch, rows, past = d.size(1, 2, 3), 1 if step.startswith("token") else d.size(2, 4, 5, 9), d.size(1, 3, 6)
    batch = 1 if step == "rows" else batch
    past = 0 if step.startswith("prompt") else past
    total = rows + past
    if step == "token in room" and d.some(0.3):
        past = d.size(300, 500, 1000)
        total, room = past + 1, -(-past // 32) * 32 + 32
    else:
        room = total + 4 if "room" in step else past
    packed, rotates = d.some(0.2), d.some(0.4)
    q, k, v = d.normal(batch, rows, heads * depth), d.normal(batch, rows, shared * depth), d.normal(batch, rows, shared * depth)
    inputs: list[Array | None] = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
    inputs += [d.normal(batch, shared, room, depth), d.normal(batch, shared, room, depth)] if room or d.some() else [None, None]
    inputs += [np.full(batch, total - 1, np.int32), np.array(total, np.int32)]   # the latter as exporters give it, from a mask's shape
    inputs += [d.weight(40, depth // 2), d.weight(40, depth // 2)] if rotates else [None, None]
    inputs += [None, None, d.weight(heads) if d.some(0.2) else None]
    attributes: dict[str, Any] = {"num_heads": heads, "kv_num_heads": shared}
    attributes |= {"do_rotary": 1, "rotary_interleaved": int(d.some(0.4))} if rotates else {}
    attributes |= {"local_window_size": d.rng.choice((1, 2, 3))} if d.some(0.2) else {}
    attributes |= {"softcap": 5.0} if d.some(0.2) else {}
    attributes |= {"scale": 0.2} if d.some(0.2) else {}
    attributes |= {"smooth_softmax": 1} if inputs[11] is None and d.some(0.2) else {}
    written = (np.arange(max(room, total)) < total)[:, None]   # rows of caches after the last key are not specified
    mask = d.data.integers(0, 2, (batch, total))
    return DrawnNode("GroupQueryAttention", present(inputs), d.kept(7, 8) if rotates else (), ("y", "key", "value"),
                       tolerance=5 * d.tolerance, written=written, measured={6: mask}, attributes=attributes)


ATTENTIONS = (multi_head, attention, rotary, grouped_query)
