# `make` lists the targets. Python 3.11 or newer, make and git are required: the first target creates
# .venv with the exact versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# DVC starts the stages as `python`, which must be the one of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Stages and tests start many processes; without bytecode each of them compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup repro studies paper test check kernels modules defaults bench screenshots notebooks clean

help:    ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(VENV)/.installed ## create .venv with the pinned dependencies

repro: setup ## run the pipeline and print its results
	@python -m barograph.pipeline.repro
	@python -m barograph.pipeline.report

studies: setup ## run the pipeline, then the papers' experiments
	@python -m barograph.pipeline.repro
	dvc repro $(addprefix studies/dvc.yaml:,audit statistics hybrid tsfeatures algorithm_1 detectors)

paper: setup ## both with the papers' numbers of splits and trees (hours)
	sed -i 's/^profile: .*/profile: paper/' params.yaml
	$(MAKE) studies
	@python -m barograph.pipeline.report

test: setup ## say which tests will be skipped, check the code, then run all tests
	@python -m tests.parts
	@# mypy uses one core. Each worker of pytest would otherwise compile the kernels and modules.
	$(MAKE) --jobs=2 modules kernels
	@# Four workers on two cores: tests wait for disks, servers and browsers almost half of the time.
	python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --durations=10

check: setup ## formatting, lint and types
	ruff format --check .
	ruff check .
	mypy

kernels: setup ## compile what the tests compute with
	python tools/kernels.py

modules: check ## compile the modules of the tests
	python -m pytest --collect-only --quiet --quiet >/dev/null || true # the tests will say why

defaults: setup ## rebuild the shipped models and report whether they differ
	python tools/defaults.py

bench: setup ## run all benchmarks and print one table
	python benchmarks/every.py

screenshots: setup ## take a picture of every page of the board
	python tools/screenshots.py

notebooks: setup ## run the notebooks and keep their outputs
	python tools/kernels.py
	python tools/notebooks.py

clean:   ## remove generated files, but never your own data or runs
	rm -rf $(addprefix data/,interim processed models reports release defaults prior raw/simulated)
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	@# Modules are compiled when they are first imported; most of them never are.
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	@touch $@
