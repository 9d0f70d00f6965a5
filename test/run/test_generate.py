"""The example of a language model: one compile serves the prompt, single tokens and parts of a prompt, and the tokens are onnxruntime's."""
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from thoroughly import thorough

import legato
from legato.examples.generate.generate import ROOM, generate
from legato.examples.generate.model import DecoderConfig, build

CONFIG = DecoderConfig(vocabulary=101, layers=2, features=64, heads=4, hidden=96, length=64)
PROMPT = [5, 6, 7, 8, 9]


def test_tokens_of_the_decoder_in_place():
    """Rooms for keys and values are written to, and grow; onnxruntime's are values."""
    config = replace(CONFIG, length=ROOM + 30)
    model, _ = build(config, in_place=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3   # it warns of each copy of a cache
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [value.name for value in session.get_inputs()]
    executable = legato.compile(legato.donate(legato.from_onnx(model), names[2:]))

    def reference(*values):
        return session.run(None, dict(zip(names, values)))

    assert generate(executable, config, PROMPT, ROOM, True).tokens == generate(reference, config, PROMPT, ROOM, True).tokens
    caches = [np.zeros((1, 4, 8, 16), np.float32) for _ in range(4)]
    given = executable(np.array([PROMPT]), np.array([0]), *caches)
    assert all(one is other for one, other in zip(given[1:], caches))


@pytest.mark.parametrize("bits", [32, *thorough([4, 8])])
def test_tokens_are_those_of_onnxruntime(bits):
    model, _ = build(CONFIG, bits)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    executable = legato.compile(legato.from_onnx(model))

    def reference(*values):
        return session.run(None, dict(zip(names, values)))

    for prompt in (PROMPT, PROMPT[:1]):
        assert generate(executable, CONFIG, prompt, 20).tokens == generate(reference, CONFIG, prompt, 20).tokens
    caches = [np.empty((1, 4, 0, 16), np.float32)] * 4
    whole = executable(np.array([PROMPT]), *caches)
    _, *caches = executable(np.array([PROMPT[:3]]), *caches)
    for ours, theirs in zip(executable(np.array([PROMPT[3:]]), *caches), whole):   # the second part of a prompt
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="too many for a model of 64"):
        generate(executable, CONFIG, PROMPT, 60)
    with pytest.raises(ValueError, match=r"past\.1\.key"):
        executable(np.array([PROMPT]), *caches[:2], caches[2][:, :, :1], caches[3])
