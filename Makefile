# Two commands for a fresh machine: `make demo` and `make test`. PIP_ARGS is passed on to every pip install,
# for example PIP_ARGS="--index-url <an index that serves CPU builds of torch>".
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_ARGS ?=
PYTEST_ARGS ?= -n 2 --dist loadfile
# One thread a process: several thread pools on few cores cost more than they give.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help setup setup-test demo test test-slow lint format clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

$(VENV)/.python:
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Python 3.11 or newer is needed, this is {v.major}.{v.minor}; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

# torch first: the release that constraints.txt pins must be the one the other packages find.
$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	$(BIN)/python -m pip install $(PIP_ARGS) --quiet --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install $(PIP_ARGS) --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install $(PIP_ARGS) --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

setup: $(VENV)/.installed ## Make the environment

setup-test: $(VENV)/.installed-test ## Make the environment with the test extra

demo: setup ## Run the default study on the embedded data, print its table, say where the figures are
	$(BIN)/mi-attention demo

test: setup-test ## Run the test suite
	$(THREADS) $(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow"

test-slow: setup-test ## Run the long tests too
	$(THREADS) $(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup-test ## Check style, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup-test ## Rewrite the sources in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment and what builds left
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
