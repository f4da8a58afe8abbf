# Every target makes .venv by itself, and again only when the pins change.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: quickstart test lint docs bench clean
.DEFAULT_GOAL := quickstart

.venv/ready: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable .
	touch $@

quickstart: .venv/ready  ## train on generated triangle graphs and write a report
	$(BIN)/sargnn quickstart

test: .venv/ready  ## the whole suite, on both cores
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --quiet

lint: .venv/ready  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: .venv/ready  ## the pages and the reference of every public name, in site/
	$(BIN)/mkdocs build --strict

bench: .venv/ready  ## speed beside PyTorch Geometric; leave the machine alone meanwhile
	$(BIN)/sargnn bench --out results/bench.jsonl

clean:  ## forget the environment and the caches
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .hypothesis
