# Two commands for a fresh machine: `make demo` and `make test`. Each makes .venv and installs
# what it needs; the stamps in .venv make the second run quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What is quick of the core, without the readers of large frameworks: the loop while you work.
CORE := $(addprefix tests/,algebra inputs formula conversion assess explain export) \
	$(addprefix tests/network/test_,network.py activations.py readers.py sklearn_pipelines.py)

.PHONY: demo test test-quick test-lowest fuzz lint format docs bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev
	.ci/browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

test-quick: $(VENV)/.dev
	HYPOTHESIS_PROFILE=quick OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q -m "not slow" $(CORE)

# The lowest versions that pyproject.toml declares, in an environment of their own. Needs uv.
test-lowest:
	uv venv --quiet --allow-existing --python $(PYTHON) .venv-lowest
	uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
		--editable ".[cli,sklearn,onnx,sympy,dask,polars,keras,torch]" \
		hypothesis pytest pytest-xdist
	KERAS_BACKEND=torch HYPOTHESIS_PROFILE=quick OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		.venv-lowest/bin/python -m pytest -q -m "not slow" $(CORE)

# Changed files of formulas, and kills and interruptions of every kind of save, with counts.
FUZZ_EXAMPLES ?= 7000
FUZZ_KILLS ?= 2000
fuzz: $(VENV)/.dev
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) FUZZ_KILLS=$(FUZZ_KILLS) OMP_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q --numprocesses=0 tests/fuzz

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site

bench: $(VENV)/.dev $(VENV)/.rivals
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/explain.py
	$(BIN)/python benchmarks/calibration.py --quick
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/bankruptcy.py --quick
	$(BIN)/python benchmarks/rivals.py --quick

clean:
	rm -rf $(VENV) .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[demo]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[dev]"
	touch $@

$(VENV)/.rivals: pyproject.toml | $(VENV)/.dev
	$(PIP) --editable ".[rivals]"
	touch $@
