PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
INPUTS ?= 20000
SECONDS ?= 300
# Where the published instances and runs are; without it, where `mislid data fetch` puts them.
DATA ?= $(MISLID_DATA)
REPRODUCED ?= build/reproduce

BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint fuzz faults bench reproduce docs clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: $(READY) ## find the best of 12 compounds and save a picture of it
	$(BIN)/python -m mislid demo

test: lint ## check style, types and layers, then run the quick tests
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-all: $(READY) ## run the slow tests: statistics, faults, fuzzing, browsers, notebooks
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

lint: $(READY) ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(READY) ## try 20,000 nasty inputs on functions and commands, for ten minutes
	MISLID_FUZZ_INPUTS="0 $(INPUTS)" $(BIN)/python -m pytest tests/fuzz

faults: $(READY) ## break processes and databases under studies, each for five minutes, or SECONDS=3600
	MISLID_FAULTS_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/faults/test_faults.py

bench: $(READY) ## measure the tables of docs/benchmarks.md
	$(BIN)/python -m benchmarks

reproduce: $(READY) ## run the paper's experiments, for an hour
	$(BIN)/python -m mislid reproduce all --jobs $(WORKERS) --output $(REPRODUCED) \
		$(if $(DATA),--data $(DATA))
	MISLID_REPRODUCED=$(REPRODUCED) $(if $(DATA),MISLID_DATA=$(DATA)) \
		$(BIN)/python -m pytest tests/e2e/test_agreement.py

docs: $(READY) ## run the examples of the documents and build the site in build/site
	$(BIN)/python -m pytest tests/e2e/test_pages.py
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d build/doctrees docs build/site

clean: ## remove the environment and all caches
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are newer than pyproject.toml once installed: from then on nothing asks the network.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "mislid needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python && $(BIN)/python -m pip --version >/dev/null 2>&1 || $(MAKE) --no-print-directory venv
	$(PIP) install --quiet --editable ".[dev]"
	@touch $@

# Some systems ship Python without ensurepip; their own pip can fill the environment then.
.PHONY: venv
venv:
	@echo "creating $(VENV) and installing mislid into it; this takes a minute, once"
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
