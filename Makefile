# Two commands set up everything by themselves: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
FOLDER ?=
LABELS ?= 10

.PHONY: demo test lint format bench clean help

help:
	@echo "make demo [FOLDER=path]  the main job on sample images, or on a folder whose sub-folders are classes"
	@echo "make test                the whole test suite"
	@echo "make lint                style, types, layers"
	@echo "make format              rewrite the code in the project's style"
	@echo "make bench               the quick benchmarks (ratios, not seconds)"
	@echo "make clean               remove the virtual environment and caches"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Lookalike needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 and run make again."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,server]'
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run
	$(BIN)/python examples/demo.py $(if $(FOLDER),"$(FOLDER)") --labels $(LABELS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo-output
