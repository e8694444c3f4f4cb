# Two commands matter: `make demo` and `make test`. Both create .venv once and work offline afterwards.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= 2

.PHONY: demo test lint bench clean

demo: $(STAMP)
	$(BIN)/hsmdc demo -o out --force

test: $(STAMP) lint
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q tests/kernels -m "not slow and not statistical"
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m pytest -q benchmarks --benchmark-columns=median,iqr,rounds

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) out build dist *.egg-info
