"""Values of the tensors that a model holds: initializers and constants."""
import onnx

from legato.frontends.onnx import tensors
from legato.frontends.onnx.model_file import is_in_array
from legato.frontends.onnx.problems import Malformed, Problem, Refused
from legato.frontends.onnx.reader import ModelSource
from legato.frontends.onnx.scope import Scope
from legato.frontends.onnx.values import POISON, ConstantValue


class Initializers:
    """The tensors of one model, some of which are in arrays that are being read from its file."""

    def __init__(self, source: ModelSource) -> None:
        self._file, self._arrays = source.file, source.arrays
        self._reads = {} if source.reads is None else source.reads.done

    def value(self, tensor: onnx.TensorProto | onnx.SparseTensorProto, name: str) -> ConstantValue:
        """A tensor as a value. Refused for a type that is not supported, Malformed for data that does not fit."""
        if isinstance(tensor, onnx.SparseTensorProto):
            return tensors.sparse_constant(tensor, name, self._file)
        return tensors.constant(tensor, name, self._file)

    def add_to(self, scope: Scope, graph: onnx.GraphProto) -> list[Problem]:
        """Adds the graph's initializers to the scope, and returns the problems of malformed ones. One that is not supported is a problem
        where something reads it: ``scope.refused``."""
        found = []
        for tensor in graph.initializer:
            if tensor.name in self._arrays and is_in_array(tensor):
                scope.values[tensor.name] = ConstantValue(tensor.name, self._arrays[tensor.name], self._reads.get(tensor.name))
            else:
                found += self._add(scope, tensor, tensor.name)
        for sparse in graph.sparse_initializer:
            found += self._add(scope, sparse, sparse.values.name)
        return found

    def _add(self, scope: Scope, tensor: onnx.TensorProto | onnx.SparseTensorProto, name: str) -> list[Problem]:
        scope.refused.pop(name, None)
        try:
            scope.values[name] = self.value(tensor, name)
        except (Refused, Malformed) as reason:
            scope.values[name] = POISON
            problem = Problem(name, "initializer", "", None, str(reason), isinstance(reason, Malformed))
            if problem.malformed:
                return [problem]
            scope.refused[name] = problem
        return []
