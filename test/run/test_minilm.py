"""The MiniLM example: the ONNX model is the published one, and one dynamic compile of it is right at any length."""
import numpy as np
import onnx
import onnxruntime
import pytest
from interpret import relative_error

import legato
from legato.examples.minilm import demo, model
from legato.examples.minilm.tokens import encode, load_tokenizer

TEXTS = ["This is an example sentence", "A man is eating food.", "Someone is having a meal.", "The stock market fell today."]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return model.save(tmp_path_factory.mktemp("minilm") / "model.onnx", model.build())


@pytest.fixture(scope="module")
def session(path):
    return onnxruntime.InferenceSession(str(path))


@pytest.fixture(scope="module")
def executable(path):
    return legato.compile(legato.from_onnx(path))


def test_model_is_the_published_one(path, session):
    onnx.checker.check_model(str(path), full_check=True)
    (vectors,) = session.run(None, encode(load_tokenizer(), TEXTS))
    # The first components of this sentence's embedding, as its authors print them.
    np.testing.assert_allclose(vectors[0, :3], [6.76569e-02, 6.34960e-02, 4.87131e-02], atol=1e-6)
    similarity = vectors @ vectors.T
    assert similarity[1, 2] > 0.6 and similarity[1, 3] < 0.1
    assert path.stat().st_size < 100_000  # the weights are elsewhere


def test_padding_changes_nothing(session):
    tokenizer = load_tokenizer()
    (short,) = session.run(None, encode(tokenizer, TEXTS))
    (padded,) = session.run(None, encode(tokenizer, TEXTS, 64))
    assert relative_error(padded, short) < 1e-5


@pytest.mark.parametrize("texts, length", [(1, 7), (1, 31), (1, 128), (4, 9), (3, 2)])
def test_one_compile_serves_all_lengths(session, executable, texts, length):
    inputs = encode(load_tokenizer(), [" ".join(TEXTS * 8)] + TEXTS[1:texts], length)
    (expected,) = session.run(None, inputs)
    assert relative_error(np.from_dlpack(executable(*inputs.values())), expected) < 1e-4


def test_demo_prints_its_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["demo", "--directory", str(tmp_path)])
    demo.main()
    lines = capsys.readouterr().out.splitlines()
    ranking = [line for line in lines if line.strip()[:2] in ("0.", "-0")]
    assert "small terrace" in ranking[0] and len(ranking) == len(demo.SENTENCES)
    assert any("onnxruntime" in line and "ms" in line for line in lines)
