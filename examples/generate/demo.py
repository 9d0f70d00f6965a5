"""Generates text by a decoder with random weights, beside onnxruntime: ``python -m legato.examples.generate.demo``."""
import argparse
import itertools
import os
import statistics
import time
from collections.abc import Sequence

import numpy as np
import onnxruntime

import legato
from legato.examples.generate.generate import Generated, Step, generate
from legato.examples.generate.model import FLOAT_BITS, DecoderConfig, build
from legato.examples.minilm.tokens import load_tokenizer

PROMPT = "A compiler reads a program that people wrote, and writes one that a machine runs"


def main() -> None:
    """Prints the text, and a line for each kind of weights."""
    arguments = _arguments()
    config = DecoderConfig(layers=arguments.layers)
    tokenizer = load_tokenizer()
    prompt = tokenizer.encode(arguments.prompt).ids
    rate = _copy_rate()
    print(f"{config.layers} layers of {config.features} features, {len(prompt)} tokens of prompt, {arguments.tokens} more, "
          f"{arguments.threads} thread{'s' if arguments.threads > 1 else ''}; memory is copied at {rate / 1e9:.1f} GB/s\n\n"
          f"{'weights':8} {'cache':8} {'MB':>6} {'prompt ms':>10} {'tokens/s':>9} {'of copy':>8}   {'onnxruntime: ms':>15} {'tokens/s':>9}")
    for bits, in_place in itertools.product(arguments.bits, (False, True)):
        model, read = build(config, bits, in_place=in_place)
        session = _session(model.SerializeToString(), arguments.threads)
        names = [value.name for value in session.get_inputs()]
        module = legato.from_onnx(model)
        if in_place:
            module = legato.donate(module, names[2:])
        executable = legato.compile(module, target=f"llvm{{threads={arguments.threads}}}")
        peer = _bound(session, names[2:]) if in_place else lambda *values, s=session, n=names: s.run(None, dict(zip(n, values)))
        ours, theirs = _in_turns((executable, peer), config, prompt, arguments.tokens, in_place)
        seconds, reference = statistics.median(ours.others), statistics.median(theirs.others)
        kind = "f32" if bits == FLOAT_BITS else f"int{bits}"
        cache = "in place" if in_place else "values"
        print(f"{kind:8} {cache:8} {read / 1e6:6.0f} {ours.first * 1e3:10.1f} {1 / seconds:9.1f} {read / seconds / rate:8.2f}   "
              f"{theirs.first * 1e3:15.1f} {1 / reference:9.1f}")
        same = "as onnxruntime's" if ours.tokens == theirs.tokens else "NOT those of onnxruntime"
        print(f"{'':17} the tokens are {same}: {tokenizer.decode(ours.tokens)[:80]}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompt", nargs="?", default=PROMPT)
    parser.add_argument("--tokens", type=int, default=32, help="how many to generate (%(default)s)")
    parser.add_argument("--layers", type=int, default=DecoderConfig().layers)
    parser.add_argument("--bits", type=int, nargs="+", choices=(32, 8, 4), default=(32, 8, 4), help="of the weights; 32: floats")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both (one for each processor: %(default)s)")
    return parser.parse_args()


def _session(model: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _bound(session: onnxruntime.InferenceSession, caches: Sequence[str]) -> Step:
    """A step of onnxruntime whose caches are outputs in the memory of inputs."""
    def step(ids: np.ndarray, at: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
        binding = session.io_binding()
        binding.bind_cpu_input("ids", ids)
        binding.bind_cpu_input("at", at)
        binding.bind_output("logits")
        for name, value in zip(caches, values):
            memory = onnxruntime.OrtValue.ortvalue_from_numpy(value)   # on the array's own memory
            binding.bind_ortvalue_input(name, memory)
            binding.bind_ortvalue_output(name.replace("past", "present"), memory)
        session.run_with_iobinding(binding)
        return [binding.get_outputs()[0].numpy(), *values]

    return step


def _in_turns(steps: Sequence[Step], config: DecoderConfig, prompt: list[int], count: int, in_place: bool) -> list[Generated]:
    """What each generates, the second time that it does so."""
    for step in steps:
        generate(step, config, prompt, 2, in_place)
    return [generate(step, config, prompt, count, in_place) for step in steps]


def _copy_rate() -> float:
    """Bytes per second that a copy of a large array reads and writes, the best of five."""
    source = np.ones(1 << 25, np.float32)
    target, times = np.empty_like(source), []
    for _ in range(6):
        started = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - started)
    return 2 * source.nbytes / min(times)


if __name__ == "__main__":
    main()
