# `make demo` and `make test` work on a fresh Debian 12 or Ubuntu 24.04 with
# git, make, Python 3.11+ and root or passwordless sudo: each first brings what
# is missing (scripts/setup.sh), once. A stamp under .venv marks what is done.
#
#   make PYTHON=/path/to/python3   the Python to make .venv from
#   make GPUCAST_SYSTEM=skip       leaves system packages alone

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

# Matrices of fits are small: more threads of BLAS wait for one another, and busily.
OPENBLAS_NUM_THREADS ?= 1
export PYTHON GPUCAST_SYSTEM OPENBLAS_NUM_THREADS

stamps := .venv/.stamps
setup := scripts/setup.sh
run_setup = @$(setup) $(@F) && mkdir -p $(@D) && touch $@
requirements := pyproject.toml scripts/constraints.txt scripts/constraints-extrap.txt scripts/constraints-examples.txt

.PHONY: help demo test test-all test-rest docs extrap examples build setup lint format bench notebooks \
  clean distclean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 16

demo: $(stamps)/venv ## another program, native or remote on four H200, this machine: into out/demo
	@scripts/build.sh --demo
	@.venv/bin/python -m gpucast.demo -o out/demo

test: setup $(stamps)/dev ## quick checks: format, lint, types, C++ tests, most Python tests
	@scripts/test.sh quick

test-all: setup $(stamps)/dev $(stamps)/docs ## every check: also clang-tidy, sanitizers, slow tests
	@scripts/test.sh quick rest

test-rest: setup $(stamps)/dev $(stamps)/docs ## what test-all checks beyond test
	@scripts/test.sh rest

docs: build $(stamps)/docs ## documentation site into build/docs/html
	@scripts/docs.sh

extrap: $(stamps)/extrap

examples: $(stamps)/examples

build: setup ## gpucast and its programs into .venv/bin
	@scripts/build.sh

setup: $(stamps)/cuda ## what building and running need

lint: setup $(stamps)/dev ## the checks that run no test
	@scripts/test.sh lint

format: $(stamps)/dev ## formats C++ and Python
	@scripts/format.sh

bench: build $(stamps)/dev $(stamps)/extrap ## accuracy and speed, with Extra-P and OpenMM beside
	@.venv/bin/python -m lab.studies.accuracy
	@.venv/bin/python lab/benchmarks/speed.py
	@.venv/bin/python lab/benchmarks/mdapp_pairs.py

notebooks: build $(stamps)/dev ## runs the notebooks and writes their pages
	@.venv/bin/python scripts/notebooks.py

clean: ## removes what was built, keeps .venv
	@rm -rf build out $(stamps)/build

distclean: clean ## removes the environments too
	@rm -rf .venv .venv-extrap .venv-examples

# The order on a fresh machine: packages, .venv, what goes into it.
$(stamps)/venv: $(setup) $(requirements)
	@$(setup) system
	$(run_setup)

$(stamps)/cuda $(stamps)/dev $(stamps)/docs $(stamps)/extrap $(stamps)/examples: $(stamps)/venv
	$(run_setup)
