# Two commands for a fresh machine: `make demo` and `make test`. Each makes .venv and installs
# what it needs; the stamps in .venv make the second run quick.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What is quick of the core, without the readers of large frameworks: the loop while you work.
CORE := $(addprefix tests/,algebra inputs formula rows factored fit assess explain export) \
	$(addprefix tests/network/test_,network.py activations.py readers.py sklearn_pipelines.py)

.PHONY: demo test studies test-quick test-lowest fuzz lint format docs bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

# Compiled modules are kept, whatever the environment says: hundreds of tests start Python anew.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
test: $(VENV)/.dev
	.ci/browser
	$(PYTEST)

# What takes minutes for one claim: several real networks, the paper's experiments in small.
# Only modules that have some are collected.
studies: $(VENV)/.dev
	$(PYTEST) -m study $$(grep -rl --include='test_*.py' 'mark\.study' tests)

test-quick: $(VENV)/.dev
	HYPOTHESIS_PROFILE=quick OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q -m "not slow and not study" $(CORE)

# The lowest versions that pyproject.toml declares, in an environment of their own. Needs uv:
# python3 -m venv build/uv && build/uv/bin/pip install uv && make test-lowest UV=build/uv/bin/uv
# Old libraries warn of what newer ones took away: only here warnings are no errors.
# A folder after files of it would add nothing to them: the files of CORE are left out.
UV ?= uv
LOWEST := .venv-lowest/bin/python
EXTRAS := cli,sklearn,onnx,sympy,dask,polars,keras,torch,explain,paper
TOOLS := "duckdb>=1.0" "formulas>=1.3" "hypothesis>=6.100" "lightning>=2.5.5" "onnxruntime>=1.24" \
	"onnxscript>=0.2" "pytest>=8.2" "pytest-xdist>=3.5" "SALib>=1.5" "skl2onnx>=1.20" "skorch>=1.2"
test-lowest:
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-lowest
	$(UV) pip install --quiet --python $(LOWEST) --resolution lowest-direct \
		--editable ".[$(EXTRAS)]" $(TOOLS)
	KERAS_BACKEND=torch HYPOTHESIS_PROFILE=quick OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(LOWEST) -m pytest -q -m "not slow and not study" -o filterwarnings=default --disable-warnings \
		$(filter-out tests/network/%,$(CORE)) tests/network tests/cli tests/estimators tests/fuzz

# Changed files of formulas and of models, and kills and interruptions of every kind of save, with
# counts: 20,000 files of each format and more. Each kind in a process of its own, for its memory.
FUZZ_EXAMPLES ?= 10000
FUZZ_KILLS ?= 2000
fuzz: $(VENV)/.dev
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) FUZZ_KILLS=$(FUZZ_KILLS) OMP_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q --numprocesses=0 tests/fuzz/test_formula_files.py \
		tests/fuzz/test_interruptions.py tests/fuzz/test_memory_peaks.py
	for kind in onnx skops keras pt2; do FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) OMP_NUM_THREADS=1 \
		$(BIN)/python -m pytest -q --numprocesses=0 tests/fuzz/test_model_files.py \
		-k "$$kind or memory" || exit 1; done

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
	$(BIN)/python benchmarks/users.py --quick

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
