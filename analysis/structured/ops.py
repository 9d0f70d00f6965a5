"""The classification of one structured op: its loops, indexing maps, body and kind.

Upstream tells the indexing maps, and whether the op is a contraction or a convolution. Properties are computed on first use and valid
until the op is rewritten.
"""
from __future__ import annotations

import re
from functools import cached_property

from legato.analysis.structured.maps import dim_positions, dims_in, is_identity, is_shifted
from legato.core.dtypes import is_float8
from legato.core.mlir import ir, linalg

ELEMENTWISE, CONTRACTION, WINDOW, REDUCTION, OPAQUE = "elementwise", "contraction", "window", "reduction", "opaque"
PARALLEL = "parallel"  # the kind of loops other than REDUCTION
DYNAMIC = -1           # the extent of a loop that is not static
# ops in bodies of sums of products, with casts of factors
PRODUCTS = {"arith.mulf", "arith.muli", "arith.extf", "arith.extsi", "arith.extui", "arith.addf", "arith.addi", "linalg.yield"}
SUMS = {"arith.addf": "arith.mulf", "arith.addi": "arith.muli"}  # sums of products: what adds, and what multiplies
# ops in bodies of contractions, of other semirings too. Upstream takes any op with one operand for a cast, functions too
CASTED_PRODUCTS = PRODUCTS | {"arith.sitofp", "arith.uitofp", "arith.truncf", "arith.trunci", "arith.andi", "arith.ori", "arith.xori",
                              "arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"}
NAMED_KINDS = {"linalg.map": ELEMENTWISE, "linalg.broadcast": ELEMENTWISE, "linalg.reduce": REDUCTION}
# channels-last pooling and depthwise convolutions: schedules treat them as generics, and those of images have a WindowForm
WINDOW_OPS = ("linalg.pooling_nhwc_max", "linalg.pooling_nhwc_min", "linalg.pooling_nhwc_sum", "linalg.pooling_nhwc_max_unsigned",
              "linalg.pooling_nhwc_min_unsigned", "linalg.depthwise_conv_1d_nwc_wc",
              "linalg.depthwise_conv_2d_nhwc_hwc", "linalg.depthwise_conv_3d_ndhwc_dhwc")
# of math, those that take an instruction or a few
SHORT = ("math.absf", "math.absi", "math.ceil", "math.copysign", "math.ctpop", "math.floor", "math.fma", "math.isfinite", "math.isinf",
         "math.isnan", "math.isnormal", "math.round", "math.roundeven", "math.rsqrt", "math.sqrt", "math.trunc")
# ops of a body that the vectorizer takes, besides math and arith
VECTORIZABLE = ("linalg.index", "linalg.yield")
# of integers: not defined for a divisor of 0
DIVISIONS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")
# associative and commutative: a reduction by one of them may be split
COMBINERS = ("arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi",
             "arith.maxui", "arith.minui", "arith.andi", "arith.ori", "arith.xori", "arith.maxnumf", "arith.minnumf")


class StructuredOp:
    """A ``linalg`` op with indexing maps. Its loops are numbered from the outermost.

    Compared by identity, so that they can be keys.
    """

    def __init__(self, op: ir.Operation):
        self.op = op

    # --- loops and maps ---

    @cached_property
    def maps(self) -> list[ir.AffineMap]:
        """The indexing map of each operand."""
        return [attribute.value for attribute in linalg.get_indexing_maps(self.op) or ()]

    @cached_property
    def iterator_types(self) -> list[str]:
        """Each loop's kind, PARALLEL or REDUCTION. In named ops the loops that do not index the output are reductions."""
        if "iterator_types" in self.op.attributes:
            return re.findall(r"<(\w+)>", str(self.op.attributes["iterator_types"]))
        return [PARALLEL if loop in self.out_loops else REDUCTION for loop in range(self.maps[0].n_dims)]

    @cached_property
    def extents(self) -> list[int]:
        """Each loop's extent, from the sizes of operands that it indexes directly; DYNAMIC where none is static."""
        extents = [DYNAMIC] * len(self.iterator_types)
        for value, map_ in zip(self.op.operands, self.maps):
            if isinstance(value.type, ir.RankedTensorType):
                for size, expression in zip(value.type.shape, map_.results):
                    if isinstance(expression, ir.AffineDimExpr) and size >= 0:
                        extents[expression.position] = size
        return extents

    @cached_property
    def parallel(self) -> bool:
        """Whether no loop is a reduction."""
        return REDUCTION not in self.iterator_types

    @property
    def inputs(self) -> list[ir.Value]:
        """The operands that are only read."""
        return list(self.op.operands)[: len(self.op.operands) - len(self.op.results)]

    @property
    def outputs(self) -> list[ir.Value]:
        """The destination operands (``outs``)."""
        return list(self.op.operands)[len(self.op.operands) - len(self.op.results):]

    def loops_of(self, operand: int) -> list[int | None]:
        """The loop that indexes each dimension of an operand; None for a constant or another expression."""
        return dim_positions(self.maps[operand])

    @cached_property
    def out_loops(self) -> list[int | None]:
        """``loops_of`` the last output."""
        return self.loops_of(len(self.maps) - 1)

    @cached_property
    def plain(self) -> bool:
        """Whether all indices are loops or constants, and the output's are distinct loops."""
        simple = all(isinstance(e, (ir.AffineDimExpr, ir.AffineConstantExpr)) for map_ in self.maps for e in map_.results)
        return simple and self.writes_plainly

    @cached_property
    def writes_plainly(self) -> bool:
        """Whether the output is indexed by distinct loops."""
        return None not in self.out_loops and len(set(self.out_loops)) == len(self.out_loops)

    def steps_plainly(self, loop: int) -> bool:
        """Whether each operand that depends on a loop does so in one dimension, with step 1."""
        for map_ in self.maps:
            places = [e for e in map_.results if loop in dims_in(e)]
            if len(places) > 1 or any(not is_shifted(e, loop) for e in places):
                return False
        return True

    # --- the body ---

    @cached_property
    def body(self) -> list[ir.Operation]:
        """The ops of the body, the terminator included."""
        return [o.operation for o in self.op.regions[0].blocks[0].operations]

    @cached_property
    def body_names(self) -> list[str]:
        """The names of the body's ops."""
        return [o.name for o in self.body]

    @staticmethod
    def takes_long(op: ir.Operation) -> bool:
        """Whether an op of a body is a function that takes as long as many additions: all of ``math`` but for those below."""
        return op.name.startswith("math.") and op.name not in SHORT

    @cached_property
    def arithmetic(self) -> set[str]:
        """The names of the body's ops, without those that take a byte for the float of 8 bits that it is."""
        return {o.name for o in self.body if o.name != "arith.bitcast" or not is_float8(o.results[0].type)}

    @property
    def scalars(self) -> list[ir.BlockArgument]:
        """The body's arguments, one for each operand."""
        return list(self.op.regions[0].blocks[0].arguments)

    @cached_property
    def indexed_loops(self) -> set[int]:
        """The loops whose index is used as a number: by ``linalg.index``, or in an index expression."""
        computed = [e for map_ in self.maps for e in map_.results if not isinstance(e, ir.AffineDimExpr)]
        found = {loop for e in computed for loop in dims_in(e)}
        for op in self.body:
            _see_index(op, found)
        return found

    @cached_property
    def gathers(self) -> bool:
        """Whether the body reads tensors at computed indices."""
        return "tensor.extract" in self.body_names

    @cached_property
    def vectorizable(self) -> bool:
        """Whether upstream's vectorizer takes the op: its body is arithmetic on types that vectors can hold, and it reduces elements."""
        if any(not name.startswith(("arith.", "math.")) and name not in VECTORIZABLE for name in self.body_names):
            return False
        if not self.parallel and not self.reduces_elements:
            return False
        return all(isinstance(t, (ir.IntegerType, ir.FloatType, ir.IndexType)) for t in self.scalar_types)

    @cached_property
    def reduces_elements(self) -> bool:
        """Whether what a reduction combines depends on an element of an input, one that some loop indexes.

        Upstream's vectorizer leaves a value that does not (a constant, an input of rank 0) a scalar, and combines it once instead of once
        for each step of the reduced loops: ``for i in range(10): y += 1.0`` would give 1.
        """
        arguments = zip(self.scalars, self.maps[:len(self.inputs)])
        return self._yields_from({argument for argument, map_ in arguments if map_.n_dims and map_.results})

    def combines_along(self, loop: int) -> bool:
        """Whether what a reduction combines depends on the step of a loop: of others, which are of one step in a vector along this one,
        upstream's vectorizer has dropped the dimensions, and an element or an index of these alone is a scalar that it combines once."""
        arguments = zip(self.scalars, self.maps[:len(self.inputs)])
        return self._yields_from({argument for argument, map_ in arguments if any(loop in dims_in(place) for place in map_.results)}, loop)

    def _yields_from(self, varying: set[ir.Value], loop: int | None = None) -> bool:
        """Whether all that the body yields is computed from some of these values, or from the index of a loop (None: of any)."""
        for op in self.body[:-1]:
            is_index = op.name == "linalg.index" and loop in (None, ir.IntegerAttr(op.attributes["dim"]).value)
            if is_index or any(operand in varying for operand in op.operands):
                varying.update(op.results)
        return all(value in varying for value in self.body[-1].operands)

    @cached_property
    def scalar_types(self) -> list[ir.Type]:
        """The types of all values in the body."""
        return [a.type for a in self.scalars] + [r.type for op in self.body for r in op.results]

    @cached_property
    def bits(self) -> int:
        """The greatest width of a value in the body, except i1."""
        return max([bits_of(t) for t in self.scalar_types if bits_of(t) > 1], default=8)

    @cached_property
    def memory_bits(self) -> int:
        """The least width of an operand's elements."""
        return min([bits_of(v.type.element_type) for v in self.op.operands if isinstance(v.type, ir.RankedTensorType)], default=8)

    @cached_property
    def divides_integers(self) -> bool:
        """Whether the body divides integers by what it computes: such a divisor may be 0, or anything, in lanes beyond an extent."""
        return any(op.name in DIVISIONS and self._computes(op.operands[1]) for op in self.body)

    def _computes(self, value: ir.Value) -> bool:
        """Whether a value of the body is one of its arguments, or made by its ops, and no constant."""
        if isinstance(value.owner, ir.Block):
            return value in self.scalars
        return value.owner.name != "arith.constant" and value.owner.operation in self.body

    @cached_property
    def combiner(self) -> str | None:
        """The name of the op that combines a reduction's accumulator with the next element; None where there is no single one
        that upstream knows.
        """
        if self.parallel or len(self.op.results) != 1:
            return None
        uses = list(self.scalars[len(self.maps) - 1].uses)
        joined = self.body[-1].operands[0].owner
        if len(uses) != 1 or isinstance(joined, ir.Block) or joined.name not in COMBINERS or uses[0].owner.operation != joined:
            return None
        return joined.name

    @cached_property
    def summed_product(self) -> ir.Operation | None:
        """The multiplication in the body whose results the op adds to its output; None for an op that does anything else."""
        total = self.body[-1].operands[0].owner
        if isinstance(total, ir.Block) or total.name not in SUMS:
            return None
        out = self.scalars[-1]
        terms = [value for value in total.operands if value != out]
        if len(terms) != 1 or len(list(out.uses)) != 1 or isinstance(terms[0].owner, ir.Block):
            return None
        product = terms[0].owner.operation
        return product if product.name == SUMS[total.name] and len(list(terms[0].uses)) == 1 else None

    # --- kinds ---

    @property
    def is_fill(self) -> bool:
        """Whether it is a linalg.fill."""
        return self.op.name == "linalg.fill"

    @cached_property
    def is_copy(self) -> bool:
        """Whether the result equals an operand with the same map; upstream folds such an op away."""
        value = self.body[-1].operands[0]
        if self.is_fill or len(self.body) != 1 or len(self.op.results) != 1 or not isinstance(value.owner, ir.Block):
            return False
        return self.maps[value.arg_number] == self.maps[-1] and self.op.operands[value.arg_number].type == self.outputs[0].type

    @cached_property
    def reads_in_order(self) -> bool:
        """Whether every input has its dimensions in the order of the loops that index them: none is transposed."""
        for map_ in self.maps[:len(self.inputs)]:
            loops = [min(found) for e in map_.results if (found := dims_in(e))]
            if loops != sorted(loops):
                return False
        return True

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether it is a linalg.generic without reductions and gathers."""
        return self.op.name == "linalg.generic" and self.parallel and not self.gathers

    @cached_property
    def convolution(self) -> linalg.ConvolutionDimensions | None:
        """Upstream's classification of the loops of a convolution (depthwise too) or pooling; None for another op."""
        if linalg.isa_contraction_op(self.op) or not linalg.isa_convolution_op(self.op):
            return None
        return linalg.infer_convolution_dimensions(self.op)

    @cached_property
    def kind(self) -> str:
        """ELEMENTWISE, CONTRACTION (convolutions with output channels too), WINDOW (pooling, depthwise), REDUCTION or OPAQUE."""
        if linalg.isa_contraction_op(self.op) and (self.op.name != "linalg.generic" or self.arithmetic <= CASTED_PRODUCTS):
            return CONTRACTION
        if self.op.name == "linalg.generic":
            return self._generic_kind()
        if self.convolution is not None:
            return CONTRACTION if list(self.convolution.output_channel) else WINDOW
        return NAMED_KINDS.get(self.op.name, OPAQUE)

    def _generic_kind(self) -> str:
        if self.gathers:
            return OPAQUE
        if self.parallel:
            return ELEMENTWISE if is_identity(self.maps[-1]) else OPAQUE
        names = self.arithmetic
        if len(self.inputs) == 2 and names <= PRODUCTS and names & {"arith.mulf", "arith.muli"}:
            return CONTRACTION if self.convolution is not None and list(self.convolution.output_channel) else WINDOW
        return REDUCTION


def _see_index(op: ir.Operation, found: set[int]) -> None:
    """Adds the loops that ``linalg.index`` reads in an op or nested in it."""
    if op.name == "linalg.index":
        found.add(op.attributes["dim"].value)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _see_index(inner.operation, found)


def bits_of(type_: ir.Type) -> int:
    """The width of a scalar type; 64 for index."""
    return 64 if isinstance(type_, ir.IndexType) else type_.width
