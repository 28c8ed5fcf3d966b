# Two commands on a fresh machine: `make demo` and `make test`. They need python3 (3.11 or later) and make.
#
#   make demo         compile examples/rms_norm.mlir and show what was found, proved, chosen, emitted and checked
#   make test         lint, types, lit tests, unit tests
#   make test-extras  tests that need heavy optional wheels (torch, jax, triton, iree, dask, ptxas, mlir-opt); what is missing is skipped by name
#   make bench        every script in benchmarks/
#   make mutation     full mutation tests: thousands of wrong graphs, none may be proved; thousands of wrong PTX kernels, to be caught
#   make docs         the site, in out/site/html, and the committed reference pages in docs/reference
#   make clean        caches and build outputs; the environment stays (`rm -r .venv` removes it)

PYTHON ?= python3
JOBS   ?= 2
BIN    := .venv/bin

# Tests that load jaxlib: its LLVM and Triton's do not go together in one process.
WITH_JAX := $(addprefix test/unit/,compiler/test_dask.py docs/test_jax_page.py frameworks/test_jax_jit.py frontend)

# Tests start hundreds of processes; where byte code may not be kept, each of them compiles a thousand modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-extras bench mutation docs clean environment environment-extras
.DEFAULT_GOAL := demo

# The script decides whether there is anything to do: it compares pyproject.toml with what was installed.
environment:
	@$(PYTHON) .ci/environment.py test dev docs

environment-extras:
	@$(PYTHON) .ci/environment.py test dev docs --optional cuda jax torch extras distributed triton iree

demo: environment
	$(BIN)/prism compile examples/rms_norm.mlir -o out/rms_norm --target sm_80

test: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lit -sv -j $(JOBS) test
	$(BIN)/pytest -n $(JOBS) -m "not extras"

test-extras: environment-extras
	$(BIN)/lit -sv -j $(JOBS) test
	$(BIN)/pytest -n $(JOBS) -m extras $(WITH_JAX)
	$(BIN)/pytest -n $(JOBS) -m extras $(WITH_JAX:%=--ignore=%)

bench: environment
	@set -e; for script in $(wildcard benchmarks/*.py); do echo "== $$script"; $(BIN)/python "$$script"; done

mutation: environment
	$(BIN)/python benchmarks/mutation.py
	$(BIN)/python benchmarks/ptx_mutation.py

docs: environment
	$(BIN)/python docs/generate_reference.py
	$(BIN)/python docs/build_site.py

clean:
	rm -rf out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .lit_test_times.txt
	find . -path ./.venv -prune -o \( -name __pycache__ -o -name Output \) -type d -exec rm -rf {} +
