# Every target works in a fresh clone: it first installs what it needs into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests keep the cores busy, and each process takes 160 MB.
JOBS ?= $(shell nproc)
# What is installed, named after the dependencies: a pull that changes none of them installs nothing.
DEPENDENCIES := $(shell sed -n '/^\[build-system\]/,/^\[project.scripts\]/p' pyproject.toml | cksum | cut -d ' ' -f 1)
RUNNABLE := $(VENV)/.runnable-$(DEPENDENCIES)
# What is installed for the tests; .ci/run adds the newest Neovim.
EXTRAS ?= dev
READY := $(VENV)/.ready-$(DEPENDENCIES)$(EXTRAS:dev%=%)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Tests start thousands of programs. Without compiled modules each of them would take twice as long.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run install check lint format types test large slow sdks adapters watched coverage editors crash fuzz soak bench recall bench-large bench-long profile docs picture man vsix clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "reel needs Python 3.11 or newer; name one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(RUNNABLE): | $(BIN)/python
	@echo "installing reeld into $(VENV): 13 packages, 40 MB, about 20 seconds"
	@$(PIP) --editable .
	@rm -f $(VENV)/.runnable-*
	@touch $@

# In one step: pip takes seconds to prepare itself for each.
$(READY): | $(BIN)/python
	@echo "installing reeld and what the tests need into $(VENV): 106 packages, 290 MB, one or two minutes"
	@# The pip of Python 3.11 takes twice as long to look through the versions of 106 packages as the newest.
	@$(PIP) --no-compile --upgrade pip
	@# Python compiles what is imported, which is less than half of it.
	@$(PIP) --no-compile --editable '.[$(EXTRAS)]'
	@rm -f $(VENV)/.runnable-* $(VENV)/.ready-*
	@touch $(RUNNABLE) $@

run: $(RUNNABLE)  ## run the daemon in the foreground (Ctrl-C stops it)
	@echo "when reeld says that it is ready, type in a second terminal: $(BIN)/reel --help"
	@$(BIN)/reeld

install: $(READY)  ## install what the other targets need

PYTEST_OPTIONS := -n $(JOBS) --dist worksteal
# The fast tests are there. Without the other folders, a worker is ready in a third of the time.
UNITS := tests/formats tests/reel tests/reeld
# Those of the core, the formats and the streams: each line and branch of these is reached by their own tests.
PURE := tests/formats tests/reel/providers tests/reel/streams tests/reeld/core tests/reeld/formats
BUT = $(addprefix --ignore ,$1)

# What each process of `make check` tests. Workers of one pytest would each collect all tests, and start what a module's
# tests share; and their master takes two milliseconds for each test.
COMMAND := tests/reel/cli
SERVING := tests/reeld/serving tests/reeld/agents tests/reeld/wire
CRASHES := tests/crash tests/counted tests/fuzz tests/soak
OF_thorough := -m slow $(PURE)
OF_command := $(COMMAND)
OF_client := tests/reel $(call BUT,$(COMMAND) $(PURE))
OF_serving := $(SERVING)
OF_daemon := tests/reeld $(call BUT,$(SERVING) $(PURE))
OF_editors := -m 'not large' tests/editors
OF_ends := -m 'not large' tests/end_to_end
OF_crashes := -m 'not large' $(CRASHES)
OF_others := -m 'not large' tests $(call BUT,$(UNITS) $(CRASHES) tests/editors tests/end_to_end tests/sdks tests/adapters)
# The longest come first, and what takes most memory comes beside what takes little.
PARTS := large check-ends check-command types sdks $(addprefix check-,editors client serving crashes daemon thorough others) coverage

check: lint  ## run everything that a change must pass (about ten minutes on two cores)
	@# After a failure the rest still runs: to see all at once.
	@$(MAKE) --no-print-directory --jobs $(JOBS) --output-sync=target --keep-going $(PARTS)

check-%: $(READY)
	$(BIN)/pytest -q $(OF_$*)

lint: $(READY)  ## run ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## run mypy --strict
	# In two steps: of what the first one has checked, the second reads the cache, so each takes 300 MB and not 460.
	$(BIN)/mypy -p reel -p reeld
	$(BIN)/mypy

test: $(READY)  ## run the fast tests (about a minute on two cores)
	$(BIN)/pytest $(PYTEST_OPTIONS) -q -m 'not slow' $(UNITS)

# Some hundred megabytes each. To import the files without such tests would take as long as ten of them.
LARGE = $(sort $(shell grep -rl --include='test_*.py' 'mark\.large' tests))
large: $(READY)
	$(BIN)/pytest -q -m large $(filter-out $(addsuffix /%,$(UNITS) tests/sdks tests/adapters),$(LARGE))

slow: large $(READY)  ## run the slow tests, and those that start programs
	$(BIN)/pytest $(PYTEST_OPTIONS) -m 'slow and not large' tests $(call BUT,tests/sdks tests/adapters)

sdks: $(READY)  ## run the tests with the vendors' SDKs
	# One process after the other: the SDKs take 100 MB in each, and LangGraph as much again.
	$(BIN)/pytest -q tests/sdks --ignore-glob '*langgraph*'
	$(BIN)/pytest -q tests/sdks/test_langgraph*.py

# The newest SDKs, in an environment of their own: the frameworks hold some of them back.
NEWEST := $(VENV)/newest
SDKS := anthropic botocore google-genai langchain-core mistralai ollama openai
# The oldest frameworks that the extras allow, and what their vendors' suites need; the list of what looks into the Agent
# Framework's own providers is that of the newest.
OLDEST := $(VENV)/oldest
BESIDE := agent-framework-openai langgraph-checkpoint-conformance langgraph-checkpoint-sqlite opentelemetry-sdk \
  pycryptodome pytest-asyncio pytest-mock syrupy
# A library of the oldest Agent Framework calls what Python has deprecated.
OLD := -W 'ignore:SelectableGroups:DeprecationWarning' --ignore-glob '*/test_agent_framework_suite.py' --ignore-glob '*/test_newest_sdks.py'
TESTING := hypothesis pytest pytest-timeout pytest-trio pytest-xdist
# What does not fit with the others, oldest and then newest, and what its suite and its example need.
APART := $(VENV)/apart
BESIDE_APART := moto openai pytest-asyncio pytest-mock
FOR_APART := $(addprefix tests/adapters/test_,strands_agents.py two_processes.py foreign_messages.py) \
  $(addprefix tests/,sdks/test_undo.py sdks/test_redaction.py test_examples.py)
# What needs a later Python than the rest, oldest and then newest, if there is one (LATER=python3.13).
LATER ?= $(firstword $(foreach name,python3.14 python3.13 python3.12,$(shell $(name) --version >/dev/null 2>&1 && echo $(name))))
IN_LATER := $(VENV)/later
FOR_LATER := tests/adapters/test_openhands_sdk.py tests/sdks/test_undo.py tests/sdks/test_redaction.py tests/test_examples.py
# Those without an adapter of their own, which the page names, with what their examples need.
NAMED := autogen-agentchat "autogen-ext[openai]" deepagents dspy langchain llama-index-core llama-index-llms-openai \
  "smolagents[openai]"
FOR_ADAPTERS := tests/adapters tests/sdks tests/test_examples.py
VERSIONS = $$($(BIN)/python -m tests.adapters.versions $1)

# Without the programs that wheels bring along, hundreds of megabytes that no test runs.
adapters: $(READY)  ## run the tests with the newest and the oldest frameworks that an adapter is for, and those of the vendors
	$(PIP) --no-binary claude-agent-sdk --upgrade --editable '.[adapters]' $(call VERSIONS,newest)
	$(BIN)/python -m tests.adapters.programs
	$(BIN)/pytest $(PYTEST_OPTIONS) $(FOR_ADAPTERS)
	$(BIN)/python -m venv $(OLDEST)
	$(subst $(BIN),$(OLDEST)/bin,$(PIP)) --no-binary claude-agent-sdk --editable . $(TESTING) $(BESIDE) $(call VERSIONS,oldest)
	$(OLDEST)/bin/pytest $(PYTEST_OPTIONS) $(OLD) $(FOR_ADAPTERS)
	$(BIN)/python -m venv $(APART)
	$(subst $(BIN),$(APART)/bin,$(PIP)) --editable . $(TESTING) $(BESIDE_APART) $(call VERSIONS,apart-oldest)
	$(APART)/bin/pytest $(PYTEST_OPTIONS) $(FOR_APART) -k strands
	$(subst $(BIN),$(APART)/bin,$(PIP)) --upgrade $(call VERSIONS,apart-newest) $(NAMED)
	$(APART)/bin/pytest $(PYTEST_OPTIONS) $(FOR_APART) tests/adapters/test_strands_suite.py -k strands
	$(APART)/bin/pytest $(PYTEST_OPTIONS) tests/adapters/test_langchain_agents.py
	$(APART)/bin/pytest $(PYTEST_OPTIONS) tests/test_examples.py -k without_an_adapter
	@test -n "$(LATER)" || echo "the OpenHands SDK needs Python 3.12, which is not installed: its tests are left out"
	$(if $(LATER),$(LATER) -m venv $(IN_LATER))
	$(if $(LATER),$(subst $(BIN),$(IN_LATER)/bin,$(PIP)) --editable . $(TESTING) $(call VERSIONS,later-oldest))
	$(if $(LATER),$(IN_LATER)/bin/pytest $(PYTEST_OPTIONS) $(FOR_LATER) -k openhands)
	$(if $(LATER),$(subst $(BIN),$(IN_LATER)/bin,$(PIP)) --upgrade $(call VERSIONS,later-newest))
	$(if $(LATER),$(IN_LATER)/bin/pytest $(PYTEST_OPTIONS) $(FOR_LATER) -k openhands)
	$(BIN)/python -m venv $(NEWEST)
	$(subst $(BIN),$(NEWEST)/bin,$(PIP)) --upgrade --editable . $(SDKS) $(TESTING)
	$(NEWEST)/bin/pytest $(PYTEST_OPTIONS) tests/adapters/test_newest_sdks.py tests/sdks/test_types.py

WATCHED_SECONDS ?= 3600
watched: $(READY)  ## work with real coding agents under reel import --watch, and compare (WATCHED_SECONDS=3600)
	$(BIN)/python -m tests.adapters.programs
	WATCHED_SECONDS=$(WATCHED_SECONDS) $(BIN)/pytest -o timeout=0 tests/adapters/test_watched_agents.py

editors: $(READY)  ## run the editors' tests, those of Neovim in the installed version and in the newest
	REEL_EVERY_NVIM=1 $(BIN)/pytest $(PYTEST_OPTIONS) tests/editors

coverage: $(READY)  ## run the tests of core, formats and streams, and measure their branch coverage
	# Measuring doubles the time of a test, and of the slow ones the coverage says little.
	$(BIN)/pytest -q -m 'not slow' --cov --cov-report= $(PURE)
	$(BIN)/coverage report

crash: $(READY)  ## kill the daemon and fail its disk, hundreds of times
	REEL_CRASH_LONG=1 $(BIN)/pytest tests/crash

FUZZ ?= 20000
fuzz: $(READY)  ## fuzz a daemon (FUZZ=20000 inputs of each kind, EVENTS=1000000 in the index that is searched), and try other examples than the tests do
	FUZZ=$(FUZZ) EVENTS=$(EVENTS) $(BIN)/pytest -s -o timeout=0 tests/fuzz
	FUZZ=$(FUZZ) $(BIN)/pytest $(PYTEST_OPTIONS) -o timeout=0 -m 'hypothesis or sampled' $(UNITS)

SOAK_SECONDS ?= 600
soak: $(READY)  ## load a daemon and see what it keeps (SOAK_SECONDS=600)
	SOAK_SECONDS=$(SOAK_SECONDS) $(BIN)/pytest -s -o timeout=0 tests/soak

bench: $(READY)  ## measure it on this machine, beside comparable programs (five minutes; ROW=add-64 for one row, ROW=all for all)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m tests.bench $(ROW)

recall: $(READY)  ## ask questions about transcripts (TRANSCRIPTS=DIR with a folder for each tool, QUESTIONS=FILE)
	TRANSCRIPTS=$(TRANSCRIPTS) QUESTIONS=$(QUESTIONS) $(BIN)/python -m tests.recall

bench-large: $(READY)  ## measure a file of ten million events (EVENTS=10000000; some minutes, 4 GB)
	$(BIN)/python -m tests.bench.large $(EVENTS)

bench-long: $(READY)  ## measure what others wait while one long conversation is used (MESSAGES=1000000)
	$(BIN)/python -m tests.bench.long $(MESSAGES)

profile: $(READY)  ## print where the time of an add goes, stage by stage (half a minute)
	$(BIN)/python -m tests.bench.budget

docs: $(READY)  ## regenerate the parts of docs/ that come from the code
	$(BIN)/python -m tests.documents

picture: $(READY)  ## draw docs/search.svg, the picture of the README, from a real run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[picture]'
	$(BIN)/python -m tests.picture

man: $(READY)  ## write the manual pages to build/man
	$(BIN)/python daemon/manual.py build/man

vsix:  ## make build/reel.vsix, the extension for VS Code (needs Node)
	python3 client/editors/vscode/vsix.py build/reel.vsix

clean:  ## remove what the other targets made
	rm -rf $(VENV) .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
