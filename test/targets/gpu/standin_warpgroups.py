"""Hopper's mbarriers, copies by tensor maps and products of warpgroups, as calls of the stand-in (inputs/standin/warpgroups.h)."""
import re

from standin_matrices import BYTES, address, call, number, signs_of

from legato.core.ir_helpers import find
from legato.core.mlir import arith, func, ir, memref

FUNCTIONS = {"standin_mbarrier_init": "(i64, i32) -> ()", "standin_mbarrier_publish": "() -> ()",
             "standin_mbarrier_arrive": "(i64, i32) -> ()",
             "standin_mbarrier_wait": "(i64, i32) -> ()", "standin_dynamic": "() -> i64",
             "standin_tile_copy": "(i64, i64, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i64) -> ()",
             "standin_wgmma_fence": "() -> ()",
             "standin_tile_store": "(i64, i32) -> ()", "standin_tile_publish": "() -> ()",
             "standin_wgmma": "(i32, i32, i32, i32, i64, i64, i64) -> ()",
             "standin_wgmma_own": "(i32, i32, i32, i64, i64, i64) -> ()",
             "standin_wgmma_commit": "() -> ()", "standin_wgmma_wait": "() -> ()"}
WARPGROUP_WAITING = ("standin_mbarrier_wait", "standin_wgmma_wait")
MULTIPLY = "nvvm.wgmma.mma_async"
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32}     # in the order of the stand-in's numbers
MOST_AXES = 5
OWN_PRODUCT = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k(\d+)\.f32\.(\w+)\.(\w+) \{.*, p, 1, 1, ([01]);")


def rewrite_warpgroups(module):
    """Puts calls in the places of the instructions in a module's kernels."""
    with module.context, ir.Location.unknown():
        for kernel in find(module.operation, "gpu.func"):
            found = find(kernel, *REWRITTEN)
            if not found:
                continue
            with ir.InsertionPoint.at_block_begin(kernel.parent.operation.regions[0].blocks[0]):
                for name, type_ in FUNCTIONS.items():
                    func.FuncOp(name, ir.FunctionType(ir.Type.parse(type_)), visibility="private")
            chains(kernel)
            own_products(kernel)
            for op in found:
                with ir.InsertionPoint(op), op.location:
                    REWRITTEN[op.name](op)
                op.erase()
            for op in reversed(find(kernel, "llvm.inttoptr", "llvm.addrspacecast")):
                if not list(op.results[0].uses):
                    op.erase()
    return module


def chains(kernel):
    """Keeps the sums of products that follow each other in a thread's memory, which the instructions are given in their place."""
    for first in [op for op in find(kernel, MULTIPLY) if op.operands[0].owner.name != MULTIPLY]:
        fields, value, made = {}, first.operands[0], []
        while value.owner.name == "llvm.insertvalue":
            made.append(value.owner.operation)
            fields[value.owner.attributes["position"][0]] = value.owner.operands[1]
            value = value.owner.operands[0]
        made.append(value.owner.operation)
        entry = kernel.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(entry), first.location:
            room = memref.alloca(ir.MemRefType.get([len(fields)], fields[0].type), [], [], alignment=16)
        with ir.InsertionPoint(first), first.location:
            for place, one in fields.items():
                memref.store(one, room, [arith.constant(ir.IndexType.get(), place)])
        chain = [first]
        while after := [use.owner.operation for use in chain[-1].results[0].uses if use.owner.operation.name == MULTIPLY]:
            chain += after
        for op in [use.owner.operation for use in chain[-1].results[0].uses]:
            assert op.name == "llvm.extractvalue"
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(memref.load(room, [arith.constant(ir.IndexType.get(), op.attributes["position"][0])]))
            op.erase()
        for op in chain:
            with ir.InsertionPoint(op), op.location:
                multiply(op, room)
        for op in [*reversed(chain), *made]:
            op.erase()


def own_products(kernel):
    """Puts calls in the places of products of which threads have the left elements: assembly, of steps that follow each other."""
    for op in [op for op in find(kernel, "llvm.inline_asm") if "wgmma" in op.attributes["asm_string"].value]:
        steps = OWN_PRODUCT.findall(op.attributes["asm_string"].value)
        columns, depth, kind, other, across = steps[0]
        count = int(columns) // 2
        sums, words, matrices = operands_of(list(op.operands), count, len(steps))
        assert kind == other and int(depth) == DEPTHS[kind] == 16 and len(words) == 4 * len(steps)
        for step, line in enumerate(op.attributes["asm_string"].value.splitlines()[3:-1]):    # each has its own words and its matrix
            assert f"{{{', '.join(f'${2 * count + 4 * step + n}' for n in range(4))}}}, ${2 * count + len(words) + step}, p, 1, 1" in line
        with ir.InsertionPoint.at_block_begin(kernel.regions[0].blocks[0]), op.location:
            room = memref.alloca(ir.MemRefType.get([count], sums[0].type), [], [], alignment=16)
            own = memref.alloca(ir.MemRefType.get([len(words)], words[0].type), [], [], alignment=16)
        index = ir.IndexType.get()
        with ir.InsertionPoint(op), op.location:
            for kept, values in ((room, sums), (own, words)):
                for place, one in enumerate(values):
                    memref.store(one, kept, [arith.constant(index, place)])
            for step, matrix in enumerate(matrices):
                at = arith.addi(address(own), arith.constant(ir.IntegerType.get_signless(64), 16 * step))
                kinds = (number(one) for one in (list(DEPTHS).index(kind), 2 * count, int(across)))
                call("standin_wgmma_own", *kinds, at, matrix, address(room))
        for use in [use.owner.operation for use in op.results[0].uses]:
            with ir.InsertionPoint(use), use.location:
                use.results[0].replace_all_uses_with(memref.load(room, [arith.constant(index, use.attributes["position"][0])]))
            use.erase()
        op.erase()


def operands_of(operands, count, steps):
    """The sums, the words of the left elements, and the matrices of a product's assembly."""
    return operands[:count], operands[count:len(operands) - steps], operands[len(operands) - steps:]


def multiply(op, room):
    """One product of a warpgroup."""
    shape = str(op.attributes["shape"])
    columns = int(shape.split("n = ")[1].split(",")[0])
    kinds = [str(op.attributes[f"type{side}"]).split("<")[-1].rstrip(">") for side in "ABD"]
    depth, integers = DEPTHS.get(kinds[0], 32), kinds[2] == "s32"
    assert (integers or (kinds[0] == kinds[1] and kinds[2] == "f32")) and 2 * room.type.shape[0] == columns
    assert integers == (str(room.type.element_type) == "i32") and "satfinite" not in str(op.attributes)
    assert f"m = 64, n = {columns}, k = {depth}" in shape
    assert all(f"<{word}>" in str(op.attributes[name]) for name, word in (("scaleD", "one"), ("scaleA", "one"), ("scaleB", "one")))
    across = [int(wanted in str(op.attributes[f"layout{side}"])) for side, wanted in (("A", "<col>"), ("B", "<row>"))]
    kind = number(BYTES + signs_of(kinds[:2]) if integers else list(DEPTHS).index(kinds[0]))
    call("standin_wgmma", kind, number(columns), *map(number, across), *list(op.operands)[1:], address(room))


def place_of(pointer):
    """The address that a pointer was made of."""
    while pointer.owner.name == "llvm.addrspacecast":
        pointer = pointer.owner.operands[0]
    assert pointer.owner.name == "llvm.inttoptr"
    return pointer.owner.operands[0]


def store(op):
    """An element, or a vector of them, that a thread puts into a tile: wgmma sees it when the thread has fenced it off (``publish``)."""
    value, pointer = op.operands
    at = place_of(pointer)
    plain = ir.Operation.create("llvm.inttoptr", [ir.Type.parse("!llvm.ptr")], [at]).results[0]
    ir.Operation.create("llvm.store", [], [value, plain], {"alignment": op.attributes["alignment"]})
    call("standin_tile_store", at, number(op.attributes["alignment"].value))


def publish(op):
    """The thread's stores so far are known to wgmma."""
    assert "async.shared" in str(op.attributes["kind"]) and "cta" in str(op.attributes["space"])
    call("standin_tile_publish")


def arrive(op):
    """A thread arrives, and says how many bytes are to come."""
    call("standin_mbarrier_arrive", place_of(op.operands[0]), op.operands[1] if len(op.operands) > 1 else number(0))


def copy_tile(op):
    """A copy by a tensor map: of the places, and of those in windows, those that the map does not have are 0."""
    segments = list(op.attributes["operandSegmentSizes"])
    assert segments[:2] == [1, 1] and segments[3] == 1 and not any(segments[5:])
    to, map_, *rest = op.operands
    places, barrier, inside = rest[:segments[2]], rest[segments[2]], rest[segments[2] + 1:]
    assert ("<im2col>" if inside else "<tile>") in str(op.attributes["mode"]) and len(inside) in (0, len(places) - 2)
    wide = [arith.extui(ir.IntegerType.get_signless(32), one) for one in inside]
    at = ir.Operation.create("llvm.ptrtoint", [ir.IntegerType.get_signless(64)], [map_]).results[0]
    call("standin_tile_copy", place_of(to), at, number(len(places)), *places, *[number(0)] * (MOST_AXES - len(places)),
         number(bool(inside)), *wide, *[number(0)] * (MOST_AXES - 2 - len(inside)), place_of(barrier))


def dynamic(op):
    """The address of dynamic shared memory."""
    for use in [u.owner.operation for u in op.results[0].uses]:
        assert use.name == "memref.extract_aligned_pointer_as_index"
        at = func.CallOp([ir.IntegerType.get_signless(64)], ir.FlatSymbolRefAttr.get("standin_dynamic"), []).results[0]
        use.results[0].replace_all_uses_with(arith.index_cast(ir.IndexType.get(), at))
        use.erase()


def registers(op):
    """The stand-in has registers enough; their numbers are those that the instruction takes."""
    assert 24 <= op.attributes["regCount"].value <= 256 and op.attributes["regCount"].value % 8 == 0


def wait_for_products(op):
    """All groups that were committed."""
    assert op.attributes["group"].value == 0
    call("standin_wgmma_wait")


REWRITTEN = {"nvvm.mbarrier.init": lambda op: call("standin_mbarrier_init", place_of(op.operands[0]), op.operands[1]),
             "nvvm.mbarrier.arrive": arrive, "nvvm.mbarrier.arrive.expect_tx": arrive,
             "nvvm.mbarrier.try_wait.parity": lambda op: call("standin_mbarrier_wait", place_of(op.operands[0]), op.operands[1]),
             "nvvm.fence.mbarrier.init": lambda op: call("standin_mbarrier_publish"), "nvvm.setmaxregister": registers,
             "nvvm.cp.async.bulk.tensor.shared.cluster.global": copy_tile, "gpu.dynamic_shared_memory": dynamic,
             "llvm.store": store, "nvvm.fence.proxy": publish, "nvvm.wgmma.fence.aligned": lambda op: call("standin_wgmma_fence"),
             "nvvm.wgmma.commit.group.sync.aligned": lambda op: call("standin_wgmma_commit"),
             "nvvm.wgmma.wait.group.sync.aligned": wait_for_products}
