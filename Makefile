# Every target does its own set-up: Python 3.11+, make and a package registry are all it takes.
#
# Variables, e.g. `make learn PORT=9000`:
#   PORT, IP      where `make learn` serves (IP=0.0.0.0: reachable from other machines)
#   PYTHON        the Python to build .venv with (3.11 or newer)
#   TORCH_INDEX   one more package index to look for torch in. On Linux a plain torch is a CUDA build of several GB;
#                 give PyTorch's own index of CPU builds here to get a small one. Empty: pip's own settings decide.
#   JOBS          how many processes run the tests
#   CLASS         the class folder that `make grade` makes and grades

PORT ?=
IP ?=
PYTHON ?= python3
TORCH_INDEX ?=
JOBS ?= auto
CLASS ?= build/class

# nbgrader starts helper programs by name, so the environment's own commands come first.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PY := .venv/bin/python

# One stamp per place: scripts in .venv hold absolute paths, so a folder that was moved or renamed is set up again.
PLACE := $(shell pwd | cksum | cut -d ' ' -f 1)
READY := .venv/ready-$(PLACE)
READY_DEV := .venv/ready-dev-$(PLACE)
PIP_INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")

.PHONY: help learn test test-slow grade notebooks bench lint clean
.DEFAULT_GOAL := help

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

learn: $(READY) ## Open the course in JupyterLab (PORT, IP)
	@$(PY) -m grader learn $(if $(PORT),--port $(PORT)) $(if $(IP),--ip $(IP))

test: $(READY_DEV) ## Whole-course checks and the fast tests, under 10 minutes on 2 cores
	$(PY) -m grader build --check
	$(PY) -m grader lint
	$(PY) -m pytest -m "not slow" -n $(JOBS) --dist loadfile

test-slow: $(READY_DEV) ## The tests that take longer
	$(PY) -m pytest -m slow -n $(JOBS) --dist loadfile

grade: $(READY) ## Make the sample class, grade it, print the table (CLASS)
	@$(PY) examples/make_class.py "$(CLASS)"
	@$(PY) -m grader grade "$(CLASS)"

notebooks: $(READY) ## Build notebooks/ from solutions/
	$(PY) -m grader build

bench: $(READY) ## Time what a learner and an instructor wait for
	@$(PY) examples/bench

lint: $(READY_DEV) ## ruff and mypy --strict
	$(PY) -m ruff check .
	$(PY) -m mypy

clean: ## Remove what the other targets made, but never my-course/
	rm -rf .venv build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "The course needs Python 3.11 or newer; '$(PYTHON)' is missing or older."; \
		echo "Name one that you have: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Setting up .venv (once; a few minutes, most of them for torch) ..."
	@if [ ! -f $@ ]; then rm -rf .venv; fi
	@$(PYTHON) -m venv .venv || { \
		echo "'$(PYTHON)' cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(PIP_INSTALL) --editable .
	@touch $@

$(READY_DEV): $(READY)
	@echo "Adding what the tests need ..."
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $@
