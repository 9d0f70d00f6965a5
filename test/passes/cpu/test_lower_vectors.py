"""tir-lower-vectors: groups of patterns for one op visit the functions that have it, the others the whole module."""
from legato.dialects.module import Module
from legato.passes.cpu import lower_vectors
from legato.passes.pipeline.pipeline import PassPipeline

TEXT = """
func.func private @turned(%x: vector<4x8xf32>) -> vector<8x4xf32> {
  %0 = vector.transpose %x, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  return %0 : vector<8x4xf32>
}
func.func private @cast(%x: vector<4x8xf32>) -> vector<32xf32> {
  %0 = vector.shape_cast %x : vector<4x8xf32> to vector<32xf32>
  return %0 : vector<32xf32>
}
func.func private @kept(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.addf %x, %x : vector<8xf32>
  return %0 : vector<8xf32>
}
"""


def test_groups_of_one_op_visit_the_functions_that_have_it(monkeypatch):
    visited = {}
    apply, scripts = lower_vectors.run_script, [lower_vectors.script(group) for group in lower_vectors.GROUPS]

    def record(body, payload, what):
        name = payload.attributes["sym_name"].value if payload.name == "func.func" else "module"
        visited.setdefault(name, []).append(scripts.index(body))
        apply(body, payload, what)

    monkeypatch.setattr(lower_vectors, "run_script", record)
    module = Module.parse(TEXT)
    PassPipeline("tir-lower-vectors").run(module)
    assert visited == {"module": [0, 1, 5], "turned": [2, 4], "cast": [4]}
    assert "vector.transpose" not in str(module) and "vector.shape_cast" not in str(module)
