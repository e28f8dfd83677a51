# Everything a newcomer needs; `make` alone lists it. Only Python 3.11 or newer, make and git
# are expected: the first verb makes .venv with the exact versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# DVC starts the stages as `python`; they must find the one of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup repro paper test check defaults bench clean

help:    ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(VENV)/.installed ## make .venv with the pinned dependencies

repro: setup ## run the pipeline to the end and print its tables
	dvc repro
	@python -m barograph.pipeline.summary

paper: setup ## the same with the paper's numbers of splits and trees (hours)
	sed -i 's/^profile: .*/profile: paper/' params.yaml
	dvc repro
	@python -m barograph.pipeline.summary

test: setup check ## check the code, then run every test
	python -m pytest -n 2

check: setup ## formatting, lint and types
	ruff format --check .
	ruff check .
	mypy

defaults: setup ## rebuild the models that the package ships, and say whether they differ
	python -m barograph.pipeline.defaults

bench: setup ## run every benchmark and render one table
	python benchmarks/every.py

clean:   ## remove what the pipeline and the compiler made, never your own data or runs
	rm -rf $(addprefix data/,interim processed models reports release defaults prior cache raw/simulated)
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,service,postgres,scale,dev]'
	@touch $@
