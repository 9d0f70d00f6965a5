"""Whether two modules say the same: ops with effects in order, what they read as expressions, each load by what was written before it."""
import legato

PURE = ("arith.", "math.", "memref.dim", "memref.extract", "tir.hypot", "tir.nextafter", "llvm.inttoptr", "bufferization.", "memref.load",
        "tensor.empty", "tensor.dim", "builtin.unrealized", "relax.")


def described(module):
    """The functions of a module as text, in alphabetic order; declarations of C functions may stand in another order."""
    module = module.clone()
    legato.Pipeline("func.func(canonicalize,cse)").run(module)
    return sorted("\n".join(_Reader().function(f)) for f in module.functions())


class _Reader:
    def __init__(self):
        self.names = {}
        self.count = 0
        self.versions = {}  # of buffers: how many writes were before

    def function(self, function):
        attributes = {name: str(function.attributes[name]) for name in function.attributes}
        lines = [str(sorted(attributes.items()))]
        for number, argument in enumerate(function.arguments if not function.is_external else ()):
            self.names[argument] = f"%arg{number}"
        for region in function.operation.regions:
            for block in region.blocks:
                lines += self.block(block)
        return lines

    def new(self):
        self.count += 1
        return f"%{self.count}"

    def block(self, block):
        for argument in block.arguments:
            self.names.setdefault(argument, self.new())
        lines = []
        for one in block.operations:
            op = one.operation
            text = f"{op.name}({', '.join(self.names[v] for v in op.operands)}) {self.attributes(op)}"
            if op.name == "memref.load":
                text += f" after {self.versions.get(op.operands[0], 0)}"
            if op.name.startswith(PURE) and not len(op.regions):
                for number, result in enumerate(op.results):
                    self.names[result] = f"[{text}:{number} {result.type}]"
                continue
            inside = [self.block(b) for region in op.regions for b in region.blocks]
            if op.name == "scf.if" and op.results:  # an expression with branches
                self.names[op.results[0]] = f"[{text} {inside}]"
                continue
            for result in op.results:
                self.names[result] = self.new()
            lines += [text, *(f"  {line}" for body in inside for line in body)]
            if op.name == "memref.store":
                self.versions[op.operands[1]] = self.versions.get(op.operands[1], 0) + 1
        return lines

    @staticmethod
    def attributes(op):
        return sorted((name, str(op.attributes[name])) for name in op.attributes)
