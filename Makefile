# Everything runs inside .venv, made from the locked requirements; no target needs anything set up first.
.DEFAULT_GOAL := help
PORT ?= 8888
ARGS ?=
IMAGE ?= tradewind:dev
BASE ?=
KUBERNETES ?= 1.34
BIN := .venv/bin

# The first Python of 3.11 or newer that really starts.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.PHONY: help run test check fix unit e2e e2e-kind versions conformance bench bench-quick image chart lock clean

help: ## Show what each target does
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/run.stamp ## Serve on http://127.0.0.1:8888 (PORT= to change): your cluster with KUBECONFIG, else the example cluster
	@$(BIN)/tradewind serve --port $(PORT) $(ARGS)

test: check unit e2e ## Everything that CI runs: check, unit tests, e2e tests on a real control plane
	@echo "All tests passed. Next: 'make run' serves the example cluster, 'make bench' measures."

check: .venv/dev.stamp ## Format, lint, types, room boundaries, Dockerfile
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/hadolint Dockerfile

fix: .venv/dev.stamp ## Format the code and apply ruff's safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

unit: .venv/dev.stamp ## Unit and property tests, on all processors (ARGS="-n 0" for one after the other)
	$(BIN)/pytest tests -n auto --maxprocesses 8 --dist worksteal $(ARGS)

e2e: .venv/dev.stamp ## e2e tests, and the benchmark in small, on a local control plane (built once, about 15 minutes, then cached)
	$(BIN)/python -m e2e.binaries
	$(BIN)/python -m bench.go_extender
	-$(BIN)/python -m e2e.karmada_binaries
	$(BIN)/pytest e2e bench $(ARGS)

e2e-kind: .venv/dev.stamp ## Image and manifests on a kind cluster, and a Deployment placed there (needs Docker and kind)
	$(BIN)/pytest e2e --kind $(ARGS)

versions: .venv/dev.stamp ## e2e tests on an older Kubernetes (KUBERNETES=1.34, built once like that of `make e2e`)
	TRADEWIND_KUBERNETES=$(KUBERNETES) $(BIN)/python -m e2e.binaries
	TRADEWIND_KUBERNETES=$(KUBERNETES) $(BIN)/pytest e2e $(ARGS)

conformance: .venv/dev.stamp ## Kubernetes' own preemption specs with Tradewind, four times (ARGS=--help for others)
	$(BIN)/python -m e2e.binaries
	nice -n 10 $(BIN)/python -m e2e.conformance $(ARGS)

bench: .venv/dev.stamp ## Measure everything against its goals, and draw the charts of docs/performance.md (about 40 minutes)
	$(BIN)/python -m e2e.binaries
	$(BIN)/python -m bench.go_extender
	$(BIN)/python -m bench $(ARGS)

bench-quick: .venv/dev.stamp ## The same in small: two minutes, to see that everything works
	$(BIN)/python -m e2e.binaries
	$(BIN)/python -m bench.go_extender
	$(BIN)/python -m bench --quick $(ARGS)

image: ## Build the container image (needs Docker; BASE=python@sha256:... pins what it is built on)
	docker build --tag $(IMAGE) $(if $(BASE),--build-arg BASE=$(BASE)) .

chart: .venv/dev.stamp ## Make the Helm chart's files from the manifests
	$(BIN)/python -m e2e.installation.chart

lock: .venv/dev.stamp ## Lock the newest dependencies that pyproject.toml allows (needs uv)
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --extra build pyproject.toml --output-file requirements/run.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --all-extras --constraint requirements/run.txt pyproject.toml --output-file requirements/dev.txt

clean: ## Remove .venv and caches (the built control plane stays in your cache directory)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

.venv/%.stamp: requirements/%.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Tradewind needs Python 3.11 or newer on PATH; set PYTHON=/path/to/python3." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Creating .venv with $$($(PYTHON) --version)"; $(PYTHON) -m venv .venv; }
	@echo "Installing $< into .venv (once; about half a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
