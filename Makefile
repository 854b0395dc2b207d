# `make help` lists the targets. Each makes the virtual environment that it needs.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
SRC ?=
FUZZ_SECONDS ?= 600
TARGET ?=

.DEFAULT_GOAL := help
.PHONY: help gen check-gen update-proto lint test test-oldest fuzz bench demo build clean

DEV := .venv/bin/python
CODEGEN := .venv-codegen/bin/python
OLDEST := .venv-oldest/bin/python

# $(1): the environment's folder, $(2): what pip installs into it
define environment
	@echo "==> making $(1)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@rm -rf $(1)
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(1)/bin/python -m pip install -qq --disable-pip-version-check $(2)
	@touch $(1)/.made
endef

.venv/.made: pyproject.toml
	$(call environment,.venv,--editable '.[all]' --group dev)

.venv-codegen/.made: codegen/requirements.txt
	$(call environment,.venv-codegen,--requirement codegen/requirements.txt)

.venv-oldest/.made: pyproject.toml tests/oldest.txt
	$(call environment,.venv-oldest,--editable '.[all]' --group test --group interop --constraint tests/oldest.txt)

.venv-fuzz/.made: pyproject.toml
	$(call environment,.venv-fuzz,--editable '.[all]' --group fuzz)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

gen: .venv-codegen/.made ## write all that is generated from proto/a2a.proto and a2a_discovery/_async
	@$(CODEGEN) -m codegen

check-gen: .venv-codegen/.made ## generate, and fail when a committed file differs or a new one appears
	@$(CODEGEN) -m codegen --check && echo "the generated files are what the schema says"

update-proto: .venv-codegen/.made ## take in a newer schema (SRC=path/to/a2a.proto), generate, print what changed in meaning
	@test -n "$(SRC)" || { echo "say SRC=path/to/a2a.proto" >&2; exit 2; }
	@$(CODEGEN) -m codegen.update "$(SRC)"
	@$(CODEGEN) -m codegen

lint: .venv/.made ## ruff, mypy --strict, import-linter
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

test: .venv/.made .venv-codegen/.made ## run the tests, with the newest protobuf
	@echo "==> testing with protobuf $$($(DEV) -c 'import google.protobuf as p; print(p.__version__)')"
	@CODEGEN_PYTHON=$(CODEGEN) $(DEV) -m pytest

test-oldest: .venv-oldest/.made .venv-codegen/.made ## run the tests, with the oldest dependencies that are supported
	@echo "==> testing with protobuf $$($(OLDEST) -c 'import google.protobuf as p; print(p.__version__)')"
	@CODEGEN_PYTHON=$(CODEGEN) PROPERTY_EXAMPLES=200 $(OLDEST) -m pytest

fuzz: .venv-fuzz/.made ## look for input that breaks a promise, FUZZ_SECONDS for each target, or for TARGET=name
	@.venv-fuzz/bin/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(TARGET)

bench: .venv/.made ## measure side by side with a2a-sdk, print ratios
	@$(DEV) -m bench

demo: .venv/.made ## start sample agents on this machine, read their cards, call them
	@echo "==> running examples/demo.py"
	@$(DEV) examples/demo.py

build: .venv/.made ## build the wheel and the source archive into dist/
	@$(DEV) -m pip install -qq --disable-pip-version-check build
	@rm -rf dist
	@$(DEV) -m build >/dev/null && ls dist

clean: ## remove the environments and caches
	rm -rf .venv .venv-codegen .venv-oldest .venv-fuzz dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache tests/interop/js/node_modules
