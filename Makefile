# Every target works in a fresh clone: what it needs goes into .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Much of the time a test waits for a process of its own.
JOBS ?= $(shell expr $$(nproc) + 1)
UNITS = $(or $(XDG_CONFIG_HOME),$(HOME)/.config)/systemd/user
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run check lint format types test coverage crash fuzz bench docs man install-units clean

help:  ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "reel needs Python 3.11 or newer; name one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY)  ## run the daemon in the foreground (Ctrl-C stops it)
	@echo "reeld listens on $$($(BIN)/reel socket)"
	@echo "now, in a second terminal: $(BIN)/reel --help"
	@$(BIN)/reeld

check: lint types coverage  ## everything that a change must pass

lint: $(READY)  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## let ruff lay out and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## mypy --strict
	$(BIN)/mypy

test: $(READY)  ## the tests alone
	$(BIN)/pytest -n $(JOBS) --dist worksteal

coverage: $(READY)  ## the tests, and which branches they reach
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='*/reeld/core/*,*/reeld/formats/*,*/reel/streams/*' --fail-under=100
	$(BIN)/coverage report --fail-under=90

crash: $(READY)  ## kill it and take its disk away, hundreds of times; make check does so a few times
	REEL_CRASH_LONG=1 $(BIN)/pytest tests/crash

FUZZ ?= 20000
fuzz: $(READY)  ## shoot at a daemon, FUZZ inputs of each kind; a finding is kept and tried first
	FUZZ=$(FUZZ) $(BIN)/pytest -o timeout=0 tests/fuzz

bench: $(READY)  ## how fast it is on this machine, beside what others reach
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m tests.bench

docs: $(READY)  ## what docs/ takes from the code, written anew
	$(BIN)/python -m tests.documents

man: $(READY)  ## the manual pages, into build/man
	$(BIN)/python -m reeld.man build/man

install-units: $(READY)  ## let systemd start this very reeld for you
	mkdir -p "$(UNITS)"
	sed 's|^ExecStart=.*|ExecStart="$(subst %,%%,$(CURDIR))/$(BIN)/reeld"|' systemd/reeld.service >"$(UNITS)/reeld.service"
	cp systemd/reeld.socket "$(UNITS)"
	@echo "now: systemctl --user daemon-reload && systemctl --user enable --now reeld.socket"

clean:  ## remove what the other targets made
	rm -rf $(VENV) .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
