"""Models whose sequences have a length that a call tells, and what they are called with."""
import numpy as np

RNG = np.random.default_rng(0)
HEAD = '<ir_version: 10, opset_import: ["": 18]>\n'


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def given(**arrays):
    return {name: np.asarray(array) for name, array in arrays.items()}


X6 = floats(6, 6)
# what scripted PyTorch writes: a list that a loop appends to, stacked and joined behind it
APPENDED = """g (int64 steps, float[b, 3] x, int64 place) => (float[s, b, 3] y, float[r, c] z, float[b, 3] last, int64 n, float[b, 3] h) {
  yes = Constant<value = bool {1}>()
  empty = SequenceEmpty<dtype = 1>()
  h, all = Loop(steps, yes, x, empty)
      <body = step (int64 i, bool c, float[b, 3] s, seq(float[]) l) => (bool d, float[b, 3] t, seq(float[]) m) {
    d = Identity(c)
    u = Sin(s)
    t = Add(u, x)
    m = SequenceInsert(l, t)
  }>
  y = ConcatFromSequence<axis = 0, new_axis = 1>(all)
  z = ConcatFromSequence<axis = 1>(all)
  last = SequenceAt(all, place)
  n = SequenceLength(all)
}"""
# a while loop that appends in some steps only, scalars, in front; stacked along the last axis
CHOSEN = """g (float[n] x, float most) => (float[k] y, int64 c) <int64[1] zero = {0}, int64 one = {1}, float half = {0.5}> {
  start = ReduceMax<keepdims = 0>(x)
  yes = Less(start, most)
  list = SequenceConstruct(start)
  v, all = Loop(, yes, start, list) <body = step (int64 i, bool c, float s, seq(float[]) l) => (bool d, float t, seq(float[]) m) {
    f = Cast<to = 1>(i)
    g = Add(f, half)
    t = Add(s, g)
    d = Less(t, most)
    r = Mod(i, two)
    odd = Cast<to = 9>(r)
    m = If(odd) <then_branch = front () => (seq(float[]) a) { first = Identity(zero) a = SequenceInsert(l, t, none) },
                 else_branch = same () => (seq(float[]) b) { b = Identity(l) }>
  }>
  y = ConcatFromSequence<axis = -1, new_axis = 1>(all)
  c = SequenceLength(all)
}""".replace("int64 one = {1}", "int64 two = {2}, int64 none = {0}")
# tensors that differ along one axis: prefixes of x, by a loop; each doubled, the second erased
PREFIXES = """g (int64 steps, float[2, n] x, int64 place)
      => (float[2, k] y, float[2, m] one, float[2, l] rest, int64 c) <int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  empty = SequenceEmpty<dtype = 1>()
  all = Loop(steps, yes, empty) <body = step (int64 i, bool c, seq(float[]) l) => (bool d, seq(float[]) m) {
    d = Identity(c)
    end = Unsqueeze(i, zero)
    axis = Constant<value = int64[1] {1}>()
    part = Slice(x, zero, end, axis)
    m = SequenceInsert(l, part)
  }>
  twice = SequenceMap<body = each (float[2, j] a) => (float[2, j] b) { b = Add(a, a) }>(all)
  y = ConcatFromSequence<axis = 1>(twice)
  one = SequenceAt(all, place)
  left = SequenceErase(twice, place)
  added = SequenceInsert(left, x, place)
  rest = ConcatFromSequence<axis = 1>(added)
  c = SequenceLength(left)
}"""
# tensors that differ along both axes
SQUARES = """g (int64 steps, float[6, 6] x, int64 place)
      => (float[k, m] one, int64 c, float[1, 6] j) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] one1 = {1}> {
  yes = Constant<value = bool {1}>()
  list = SequenceConstruct(x)
  all = Loop(steps, yes, list) <body = step (int64 i, bool c, seq(float[]) l) => (bool d, seq(float[]) m) {
    d = Identity(c)
    end = Unsqueeze(i, zero)
    next = Add(end, one1)
    ends = Concat<axis = 0>(end, next)
    axes = Constant<value = int64[2] {0, 1}>()
    zeros = Constant<value = int64[2] {0, 0}>()
    part = Slice(x, zeros, ends, axes)
    m = SequenceInsert(l, part, none)
  }>
  one = SequenceAt(all, place)
  few = SequenceErase(all, place)
  c = SequenceLength(few)
  back = Constant<value = int64 {-1}>()
  j0 = SequenceAt(all, back)
  j = ReduceMax(j0, zero)
}""".replace("int64[1] two = {2}", "int64 none = {0}")
# parts of a size that is given, the last one smaller
PARTS = """g (float[n, 4] x, int64 size, int64 place) => (float[k, 4] one, float[r, 4] all, int64 c, float[q, 4] some) {
  parts = SplitToSequence<axis = 0>(x, size)
  one = SequenceAt(parts, place)
  all = ConcatFromSequence<axis = 0>(parts)
  c = SequenceLength(parts)
  less = SequenceErase(parts)
  more = SequenceInsert(less, x)
  some = ConcatFromSequence<axis = 0>(more)
}"""
# listed sizes, of a number that is not known
SIZES = """g (float[3, n] x, int64[k] sizes, int64 place) => (float[3, m] one, float[3, j] all, float[s, 3, e] even) {
  parts = SplitToSequence<axis = 1>(x, sizes)
  one = SequenceAt(parts, place)
  all = ConcatFromSequence<axis = 1>(parts)
  same = SplitToSequence<axis = 0>(x)
  rows = SplitToSequence<axis = 1, keepdims = 0>(x)
  row = SequenceAt(rows, place)
  double = SequenceInsert(rows, row, place)
  even = ConcatFromSequence<axis = 0, new_axis = 1>(double)
}""".replace("float[s, 3, e] even", "float[s, 3] even").replace("  same = SplitToSequence<axis = 0>(x)\n", "")
# a list of known length; one of two branches makes it longer
BRANCHES = """g (bool c, float[n, 2] x, float[m, 2] w) => (float[k, 2] y, int64 count, float[j, 2] first) <int64 zero = {0}> {
  list = SequenceConstruct(x, w)
  s = If(c) <then_branch = more () => (seq(float[]) a) { a = SequenceInsert(list, w) },
             else_branch = less () => (seq(float[]) b) { b = SequenceConstruct(x) }>
  y = ConcatFromSequence<axis = 0>(s)
  count = SequenceLength(s)
  first = SequenceAt(s, zero)
}"""
# a position in a short list, and steps over what a sequence has
POSITIONS = """g (float[n] x, float[m] w, int64 place) => (float[k] y, float z) <int64 none = {0}, float start = {0.0}> {
  yes = Constant<value = bool {1}>()
  list = SequenceConstruct(x, w, x)
  longer = SequenceInsert(list, w, place)
  shorter = SequenceErase(longer, place)
  y = SequenceAt(longer, place)
  count = SequenceLength(shorter)
  z = Loop(count, yes, start) <body = step (int64 i, bool c, float s) => (bool d, float t) {
    d = Identity(c)
    one = SequenceAt(shorter, i)
    r = ReduceSum<keepdims = 0>(one)
    t = Add(s, r)
  }>
}"""
# a loop in a loop: the inner one takes tensors of the outer one's list, from its end, and appends pairs to another
NESTED = """g (int64 steps, float[n] x, int64[k] places)
      => (float[r, n] y, float[q] z, int64 c) <int64 one = {1}, int64 back = {-1}, int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  list = SequenceConstruct(x)
  none = SequenceEmpty<dtype = 1>()
  outer, pairs = Loop(steps, yes, list, none)
      <body = turn (int64 i, bool c, seq(float[]) l, seq(float[]) p) => (bool d, seq(float[]) m, seq(float[]) q) {
    d = Identity(c)
    last = SequenceAt(l, back)
    next = Sin(last)
    m = SequenceInsert(l, next)
    count = Add(i, one)
    q = Loop(count, yes, p) <body = step (int64 j, bool e, seq(float[]) a) => (bool f, seq(float[]) b) {
      f = Identity(e)
      place = Gather(places, j)
      part = SequenceAt(l, place)
      b0 = SequenceInsert(a, part)
      neg = Neg(part)
      b = SequenceInsert(b0, neg)
    }>
  }>
  y = ConcatFromSequence<axis = 0, new_axis = 1>(pairs)
  z = ConcatFromSequence<axis = 0>(outer)
  c = SequenceLength(pairs)
}"""
# an empty list of which the body reads before it appends: its graph says what tensors there will be
DECLARED = """g (int64 steps, float[3] x) => (float[k] y) <int64 none = {0}, int64 back = {-1}, int64[1] zero = {0}> {
  yes = Constant<value = bool {1}>()
  empty = SequenceEmpty<dtype = 1>()
  all = Loop(steps, yes, empty) <body = step (int64 i, bool c, seq(float[a]) l) => (bool d, seq(float[]) m) {
    d = Identity(c)
    first = Equal(i, none)
    t = If(first) <then_branch = given () => (float[b] u) { u = Identity(x) },
                   else_branch = before () => (float[e] v) {
      w = SequenceAt(l, back)
      most = ReduceMax(w, zero)
      v = Concat<axis = 0>(most, w)
    }>
    m = SequenceInsert(l, t)
  }>
  y = ConcatFromSequence<axis = 0>(all)
}"""
# an optional that a branch gives, and one that a loop fills
OPTIONALS = """g (bool c, int64 steps, float[n] x) => (bool has, bool filled, float y) <float zero = {0.0}, int64 two = {2}> {
  yes = Constant<value = bool {1}>()
  o = If(c) <then_branch = some () => (optional(float[n]) a) { a1 = Exp(x) a = Optional(a1) },
             else_branch = none () => (optional(float[n]) b) { b = Optional<type = float[n]>() }>
  has = OptionalHasElement(o)
  y = If(has) <then_branch = value () => (float v) { u = OptionalGetElement(o) v = ReduceSum<keepdims = 0>(u) },
               else_branch = other () => (float w) { w = Identity(zero) }>
  start = Optional<type = seq(float[n])>()
  p = Loop(steps, yes, start) <body = step (int64 i, bool e, optional(seq(float[n])) q) => (bool d, optional(seq(float[n])) r) {
    d = Identity(e)
    odd = Mod(i, two)
    is_odd = Cast<to = 9>(odd)
    r = If(is_odd) <then_branch = fill () => (optional(seq(float[n])) r1) { s1 = SequenceConstruct(x, x) r1 = Optional(s1) },
                    else_branch = keep () => (optional(seq(float[n])) r2) { r2 = Identity(q) }>
  }>
  filled = OptionalHasElement(p)
}"""
# sequences of one tensor and of none
SINGLE = """g (int64 place, float[n] x, float[m] w) => (float[k] y, int64 none, float[j] z) {
  list = SequenceConstruct(x)
  two = SequenceInsert(list, w, place)
  y = ConcatFromSequence<axis = 0>(two)
  one = SequenceErase(two, place)
  z = SequenceAt(one, place)
  empty = SequenceErase(one, place)
  none = SequenceLength(empty)
}"""
# a list that is joined where it has a tensor, and one that is joined always
GUARDED = """g (int64 steps, int64 more, float[n] x) => (float[k] y, float[m, n] z) <int64 none = {0}> {
  yes = Constant<value = bool {1}>()
  empty = SequenceEmpty<dtype = 1>()
  first = Loop(steps, yes, empty) <body = step (int64 i, bool c, seq(float[]) l) => (bool d, seq(float[]) m) {
    d = Identity(c)
    m = SequenceInsert(l, x)
  }>
  count = SequenceLength(first)
  some = Greater(count, none)
  y = If(some) <then_branch = all () => (float[a] u) { more1 = SequenceInsert(first, x) one = SequenceErase(more1)
                                                       two = SequenceErase(one) back = SequenceInsert(two, x, none)
                                                       u = ConcatFromSequence<axis = 0>(back) },
                else_branch = other () => (float[b] v) { v = Identity(x) }>
  second = Loop(more, yes, empty) <body = again (int64 i2, bool c2, seq(float[]) l2) => (bool d2, seq(float[]) m2) {
    d2 = Identity(c2)
    m2 = SequenceInsert(l2, x)
  }>
  z = ConcatFromSequence<axis = 0, new_axis = 1>(second)
}"""
# as many steps as a list has tensors; nothing else reads what is appended
COUNTED = """g (float[n, 4] x) => (int64 c) <int64 two = {2}> {
  yes = Constant<value = bool {1}>()
  parts = SplitToSequence<axis = 0>(x, two)
  count = SequenceLength(parts)
  empty = SequenceEmpty<dtype = 1>()
  all = Loop(count, yes, empty) <body = step (int64 i, bool c, seq(float[]) l) => (bool d, seq(float[]) m) {
    d = Identity(c)
    part = SequenceAt(parts, i)
    m = SequenceInsert(l, part)
  }>
  c = SequenceLength(all)
}"""
CALLS = {
    "appended": (APPENDED, [given(steps=n, x=floats(b, 3), place=p) for n, b, p in ((1, 2, 0), (5, 4, -2), (20, 1, 19), (2, 0, 1))],
                 [given(steps=n, x=floats(2, 3), place=p) for n, p in ((0, 0), (3, 3), (3, -4))]),
    "chosen": (CHOSEN, [given(x=floats(n), most=np.float32(most)) for n, most in ((3, 40.0), (1, -9.0), (5, 6.0))], []),
    "prefixes": (PREFIXES, [given(steps=n, x=floats(2, k), place=p) for n, k, p in ((3, 4, 1), (6, 3, -1), (1, 2, 0), (4, 0, 2))],
                 [given(steps=3, x=floats(2, 4), place=3)]),
    "squares": (SQUARES, [given(steps=n, x=X6, place=p) for n, p in ((1, 0), (4, 2), (5, -1), (0, 0))], [given(steps=2, x=X6, place=5)]),
    "parts": (PARTS, [given(x=floats(n, 4), size=s, place=p) for n, s, p in ((6, 2, 1), (7, 3, -1), (3, 9, 0), (8, 1, 7))],
              [given(x=floats(6, 4), size=s, place=p) for s, p in ((2, 3), (0, 0), (-1, 0))]),
    "sizes": (SIZES, [given(x=floats(3, sum(s)), sizes=s, place=p) for s, p in (([2, 3], 1), ([1, 0, 4], -2), ([4], 0))],
              [given(x=floats(3, 5), sizes=s, place=0) for s in ([2, 2], [6, -1])]),
    "branches": (BRANCHES, [given(c=c, x=floats(n, 2), w=floats(m, 2)) for c in (True, False) for n, m in ((2, 3), (0, 1), (4, 4))], []),
    "nested": (NESTED, [given(steps=len(p), x=floats(n), places=p) for n, p in ((2, [0, 1, -1]), (3, [0]), (1, [0, -2, 0, 1]))],
               [given(steps=3, x=floats(2), places=p) for p in ([0, 3, 0], [-2, 0, 0])]),
    "declared": (DECLARED, [given(steps=n, x=floats(3)) for n in (1, 2, 12)], []),
    "optionals": (OPTIONALS, [given(c=c, steps=n, x=floats(k)) for c in (True, False) for n, k in ((0, 3), (1, 1), (2, 0), (9, 5))], []),
    "counted": (COUNTED, [given(x=floats(n, 4)) for n in (1, 4, 5)], []),
    "single": (SINGLE, [given(place=p, x=floats(n), w=floats(m)) for p, n, m in ((0, 3, 2), (0, 1, 1), (-1, 2, 0))],
               [given(place=p, x=floats(2), w=floats(2)) for p in (1, 2, -2)]),
    "guarded": (GUARDED, [given(steps=n, more=m, x=floats(3)) for n, m in ((0, 1), (2, 1), (12, 2))],
                [given(steps=1, more=0, x=floats(3))]),
    "positions": (POSITIONS, [given(x=floats(2), w=floats(5), place=p) for p in (0, 1, 2, -1, -3)],
                  [given(x=floats(2), w=floats(5), place=p) for p in (4, -4)]),
}
INTERPRETED = ("single", "parts", "sizes", "positions")     # those without regions
