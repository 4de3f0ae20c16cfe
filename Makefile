# Everything a developer and the CI do. Each target makes what it needs; nothing but Python 3.11+ and make has to be there.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PY := $(VENV)/bin/python
BIN := $(VENV)/bin
# Who only wants to run gets a light environment; who has the developer's uses that.
RUN_VENV := $(if $(shell cmp -s requirements/dev.txt $(VENV)/lock.txt && echo yes),$(VENV),.venv-run)
DISTRIBUTIONS := core modules app kit
PYPROJECTS := $(DISTRIBUTIONS:%=%/pyproject.toml)
# Directories count as well: a file that was removed shows in theirs alone.
DIST_FILES := $(shell find $(DISTRIBUTIONS) -name __pycache__ -prune -o -print)
CHECKED := $(DISTRIBUTIONS) docs tests tools $(wildcard bench)

# An interpreter's surroundings must not decide what is tested.
unexport PYTHONPATH PYTHONHOME
# Hundreds of processes start during the tests; each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore
export PIP_USER := 0
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# Only a prompt given to make itself counts, and it is passed on as it is, whatever characters it has.
ifeq ($(origin PROMPT),command line)
export AMPLIFIER_PROMPT := $(value PROMPT)
endif

# What keeps one core busy runs beside another such thing, each one's output in one piece; the tests are two processes
# by themselves. The environment comes first, so that it tells how far it is.
TWO_AT_A_TIME = $(MAKE) --no-print-directory .make/venv && \
	$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: help
help: ## show this list
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

.PHONY: run
run: $(RUN_VENV:.%=.make/%) ## one agent turn on the embedded model; PROMPT="…" asks something else
	@$(RUN_VENV)/bin/amplifier run --bundle offline --verbose -- "$${AMPLIFIER_PROMPT:-What is 17 * 23?}"

.PHONY: test
test: ## everything: all checks, all tests, built distributions; what the CI runs
	@$(TWO_AT_A_TIME) format-check lint imports types kernel-alone dist docs-check
	@$(MAKE) --no-print-directory tests
	@echo "all passed"

.PHONY: check
check: ## all checks and tests, without the built distributions
	@$(TWO_AT_A_TIME) format-check lint imports types kernel-alone docs-check
	@$(MAKE) --no-print-directory tests

.PHONY: format
format: .make/venv ## format the code and mend what can be mended by itself
	@$(BIN)/ruff check --quiet --fix-only $(CHECKED)
	@$(BIN)/ruff format $(CHECKED)

.PHONY: format-check
format-check: .make/venv ## is the code formatted?
	@echo "== format"
	@$(BIN)/ruff format --check --quiet $(CHECKED)

.PHONY: lint
lint: .make/venv ## ruff
	@echo "== lint"
	@$(BIN)/ruff check --quiet $(CHECKED)

.PHONY: types
types: .make/venv ## pyright, strict for what is shipped
	@echo "== types"
	@$(BIN)/pyright --pythonpath $(PY)

.PHONY: imports
imports: .make/venv ## import-linter: which way imports may point
	@echo "== imports"
	@$(BIN)/lint-imports --no-logo

.PHONY: tests
tests: .make/venv ## the tests, in two processes, with branch coverage
	@echo "== tests"
	@tools/foreign-servers $(PY) || echo "tests that talk to servers of others will be skipped"
	@$(PY) -m pytest -q -n 2 -p no:amplifier_module --cov --cov-report=term \
		--ignore=tests/architecture/test_docs_examples.py --ignore=tests/architecture/test_generated_docs.py \
		--ignore=tests/foreign

.PHONY: foreign
foreign: .make/foreign ## install the servers of others that some tests talk to

.PHONY: conformance
conformance: .make/foreign ## the official conformance suite of the Model Context Protocol against our client
	@$(PY) -m pytest -q -n 2 tests/foreign

.PHONY: docs-check
docs-check: .make/venv ## run the examples of the documentation; are links, commands and generated pages right?
	@echo "== documentation"
	@$(PY) -m pytest -q tests/architecture/test_docs_examples.py tests/architecture/test_generated_docs.py

.PHONY: kernel-alone
kernel-alone: .make/kernel-wheel ## the kernel's tests where there is nothing but the kernel and the test runner
	@echo "== kernel alone"
	@tools/kernel-tests .venv-kernel $(PY) .make/wheels/amplifier_core-*.whl

.PHONY: test-pythons
test-pythons: .make/kernel-wheel ## the kernel's tests on every Python from 3.11 to 3.14 that is found
	@tools/test-pythons .make/wheels/amplifier_core-*.whl

.PHONY: dist
dist: .make/dist ## build wheels and sdists, install them into fresh environments, try them
	@echo "dist/ holds four wheels and sdists: built, installed and tried"

.PHONY: bench
bench: .make/venv ## measure the kernel; writes bench/results.json
	@$(PY) -m bench

.PHONY: bench-peer
bench-peer: .make/venv ## measure the kernel beside the public amplifier-core wheel
	@$(PY) -m bench.peer

.PHONY: bench-agents
bench-agents: .make/venv ## measure an agent run beside other agent frameworks, each in an environment of its own
	@$(PY) -m bench.agents

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock"

.PHONY: lock
lock: .make/venv ## pin the newest versions anew: requirements/*.in to requirements/*.txt
	$(COMPILE) --upgrade requirements/dev.in -o requirements/dev.txt
	$(COMPILE) --upgrade -c requirements/dev.txt requirements/build.in -o requirements/build.txt
	$(COMPILE) --upgrade -c requirements/dev.txt requirements/runtime.in -o requirements/runtime.txt
	$(COMPILE) --upgrade -c requirements/dev.txt requirements/kernel-test.in -o requirements/kernel-test.txt

.PHONY: clean
clean: ## remove everything that make has made
	rm -rf .make .venv .venv-* dist tests/foreign/node_modules .coverage .coverage.* .hypothesis .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What is made leaves a stamp in .make/, believed only while the thing itself is there.

.make/venv: requirements/dev.txt $(PYPROJECTS) $(if $(wildcard $(VENV)/lock.txt),,FORCE)
	@python=$$(tools/find-python) && tools/make-venv $(VENV) "$$python" requirements/dev.txt
	@tools/install $(VENV) --quiet --no-deps --no-build-isolation $(DISTRIBUTIONS:%=-e ./%)
	@mkdir -p .make && touch $@

.make/venv-run: requirements/runtime.txt requirements/build.txt $(PYPROJECTS) $(if $(wildcard .venv-run/lock.txt),,FORCE)
	@python=$$(tools/find-python) && tools/make-venv .venv-run "$$python" requirements/runtime.txt requirements/build.txt
	@echo "putting core, modules and app into .venv-run"
	@tools/install .venv-run --quiet --no-deps --no-build-isolation -e ./core -e ./modules -e ./app
	@mkdir -p .make && touch $@

.make/kernel-wheel: .make/venv $(filter core/%,$(DIST_FILES))
	@rm -rf .make/wheels
	@cd core && ../$(PY) -m hatchling build -t wheel -d ../.make/wheels >../.make/log 2>&1 || { cat ../.make/log; exit 1; }
	@touch $@

.make/foreign: .make/venv tests/foreign/package-lock.json tools/foreign-servers $(if $(wildcard tests/foreign/node_modules/lock.json),,FORCE)
	@tools/foreign-servers $(PY)
	@touch $@

.make/dist: .make/venv requirements/runtime.txt tools/check_dist.py $(DIST_FILES) $(if $(wildcard dist/*.whl),,FORCE)
	@echo "== distributions"
	@$(PY) tools/check_dist.py
	@touch $@

.PHONY: FORCE
FORCE:
