"""Einsum as sums, permutations and matrix products."""
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.dims import Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed


@dataclass
class _Term:
    """A tensor and one letter for each of its axes; the axes of an ellipsis have digits."""

    x: ir.Value
    letters: str

    @property
    def sizes(self) -> dict[str, Size]:
        return dict(zip(self.letters, TensorType.of(self.x.type).dims))

    def summed(self, keep: str) -> "_Term":
        """The term summed over the axes whose letters are not kept."""
        axes = [axis for axis, letter in enumerate(self.letters) if letter not in keep]
        if not axes:
            return self
        return _Term(relax.sum(self.x, axis=axes), "".join(letter for letter in self.letters if letter in keep))

    def ordered(self, letters: str) -> ir.Value:
        """The tensor with its axes in this order; letters that it does not have become axes of size 1."""
        own = [letter for letter in letters if letter in self.letters]
        axes = [self.letters.index(letter) for letter in own]
        x = self.x if axes == sorted(axes) else relax.permute_dims(self.x, axes=axes)
        missing = [axis for axis, letter in enumerate(letters) if letter not in self.letters]
        return relax.expand_dims(x, axis=missing) if missing else x

    def diagonal(self, node) -> "_Term":
        """The term with repeated letters reduced to one axis: their diagonal."""
        term = self
        for letter, count in Counter(self.letters).items():
            for _ in range(count - 1):
                first, second = [axis for axis, other in enumerate(term.letters) if other == letter][:2]
                term = _Term(_diagonal(node, term.x, first, second), term.letters[:second] + term.letters[second + 1 :])
        return term


def _diagonal(node, x: ir.Value, first: int, second: int) -> ir.Value:
    """The elements with equal indices along two axes, along the first of them. Read where they lie, if the axes are neighbours."""
    sizes = list(TensorType.of(x.type).dims)
    rows, columns = sizes[first], sizes[second]
    if rows != columns:
        equal = f"axes {first} and {second}, of one letter, to have equal sizes, found {rows} and {columns}"
        if isinstance(rows, int) and isinstance(columns, int):
            raise Malformed(f"it needs {equal}")
        node.require_equal(rows, columns, equal)
    order = [axis for axis in range(len(sizes)) if axis != second]
    order.insert(order.index(first) + 1, second)
    x = x if second == first + 1 else relax.permute_dims(x, axes=order)
    flat = relax.reshape(x, shape=[rows * columns if axis == first else sizes[axis] for axis in order if axis != second])
    apart = columns + 1 if isinstance(columns, int) else run_time.vector(node, [columns + 1])
    return relax.take(flat, run_time.counted(rows, step=apart), axis=order.index(first))


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each input and of the output, with ellipses replaced by digits."""
    if not re.fullmatch(r"[A-Za-z., ]*(->[A-Za-z. ]*)?", equation):
        raise Malformed(f"the equation '{equation}' has other characters than letters, dots, commas and an arrow")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise Malformed(f"the equation '{equation}' has {len(terms)} terms for {len(ranks)} inputs")
    hidden = [rank - len(term.replace("...", "")) if "..." in term else 0 for term, rank in zip(terms, ranks)]
    dots = "0123456789"[: max(hidden)]
    spelled = [term.replace("...", dots[len(dots) - count :]) for term, count in zip(terms, hidden)]
    if any(len(term) != rank for term, rank in zip(spelled, ranks)):
        raise Malformed(f"the equation '{equation}' does not fit inputs of the ranks {list(ranks)}")
    if arrow:
        output = right.replace("...", dots, 1)
        if "." in output:
            raise Malformed(f"the output of the equation '{equation}' has a dot that is not of one ellipsis")
        for letter, count in Counter(output).items():
            if count > 1:
                raise Malformed(f"the output of the equation '{equation}' has '{letter}' more than once")
            if letter not in dots and letter not in left:
                raise Malformed(f"the output of the equation '{equation}' has '{letter}', which no input has")
        return spelled, output
    counts = Counter("".join(terms).replace(".", ""))
    return spelled, dots + "".join(sorted(letter for letter, count in counts.items() if count == 1))


def _product(a: _Term, b: _Term, keep: str) -> _Term:
    """The product, summed over the letters that are not kept: a matrix product, batched over the letters that both have and keep, or an
    elementwise one, where both keep all."""
    a, b = a.summed(keep + b.letters), b.summed(keep + a.letters)
    if all(letter.isdigit() or letter in keep for letter in a.letters + b.letters):
        letters = "".join(sorted({*a.letters, *b.letters}, key=lambda letter: (keep.find(letter), letter)))
        return _Term(relax.multiply(a.ordered(letters), b.ordered(letters)), letters)
    shared = [letter for letter in a.letters if letter in b.letters]
    batch = "".join(letter for letter in dict.fromkeys(a.letters + b.letters) if letter.isdigit() or (letter in shared and letter in keep))
    inner = "".join(letter for letter in shared if letter not in batch)
    rows = "".join(letter for letter in a.letters if letter not in batch + inner)
    columns = "".join(letter for letter in b.letters if letter not in batch + inner)
    sizes = {**b.sizes, **{k: v for k, v in a.sizes.items() if v != 1 or k not in b.sizes}}

    def matrices(term: _Term, first: str, second: str) -> ir.Value:
        x = term.ordered(batch + first + second)
        leading = list(TensorType.of(x.type).dims[: len(batch)])
        return relax.reshape(x, shape=[*leading, dims.product(term.sizes[i] for i in first), dims.product(term.sizes[i] for i in second)])

    y = relax.matmul(matrices(a, rows, inner), matrices(b, inner, columns))
    leading = list(TensorType.of(y.type).dims[: len(batch)])
    y = relax.reshape(y, shape=[*leading, *(sizes[i] for i in rows), *(sizes[i] for i in columns)])
    return _Term(y, batch + rows + columns)


@op("Einsum", 12, 28)
def einsum(node):
    """Einsum: a chain of products from left to right."""
    inputs, output = _parse(node.string("equation"), [node.rank(index) for index in range(len(node))])
    terms = [_Term(x, letters).diagonal(node) for x, letters in zip(node.xs(), inputs)]
    result = terms[0]
    for index, term in enumerate(terms[1:], 1):
        result = _product(result, term, output + "".join(later.letters for later in terms[index + 1 :]))
    return result.summed(output).ordered(output)


ENTRIES = (einsum,)
