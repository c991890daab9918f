# Every target works in a fresh clone: it first installs what it needs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than the cores: tests spend much of their time waiting for processes that they start.
JOBS ?= $(shell expr $$(nproc) + 1)
UNITS = $(or $(XDG_CONFIG_HOME),$(HOME)/.config)/systemd/user
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run check lint format types test coverage crash fuzz bench docs man install-units clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "reel needs Python 3.11 or newer; name one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "installing into $(VENV): about 60 packages, some minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY)  ## run the daemon in the foreground (Ctrl-C stops it)
	@echo "starting reeld on $$($(BIN)/reel socket)"
	@echo "when it is ready, type in a second terminal: $(BIN)/reel --help"
	@$(BIN)/reeld

check: lint types coverage  ## run everything that a change must pass (about 20 minutes)

lint: $(READY)  ## run ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## run mypy --strict
	$(BIN)/mypy

test: $(READY)  ## run the tests
	$(BIN)/pytest -n $(JOBS) --dist worksteal

coverage: $(READY)  ## run the tests and measure branch coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='*/reeld/core/*,*/reeld/formats/*,*/reel/streams/*' --fail-under=100
	$(BIN)/coverage report --fail-under=90

crash: $(READY)  ## kill the daemon and fail its disk, hundreds of times
	REEL_CRASH_LONG=1 $(BIN)/pytest tests/crash

FUZZ ?= 20000
fuzz: $(READY)  ## fuzz a daemon (FUZZ=20000 inputs of each kind)
	FUZZ=$(FUZZ) $(BIN)/pytest -o timeout=0 tests/fuzz

bench: $(READY)  ## measure it on this machine, beside comparable programs (6 minutes)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m tests.bench

docs: $(READY)  ## regenerate the parts of docs/ that come from the code
	$(BIN)/python -m tests.documents

man: $(READY)  ## write the manual pages to build/man
	$(BIN)/python daemon/manual.py build/man

install-units: $(READY)  ## install systemd user units for this checkout
	mkdir -p "$(UNITS)"
	sed 's|^ExecStart=.*|ExecStart="$(subst %,%%,$(CURDIR))/$(BIN)/reeld"|' systemd/reeld.service >"$(UNITS)/reeld.service"
	cp systemd/reeld.socket "$(UNITS)"
	@echo "next: systemctl --user daemon-reload && systemctl --user enable --now reeld.socket"

clean:  ## remove what the other targets made
	rm -rf $(VENV) .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
