# Two commands do everything on a fresh machine with Python (>= 3.11) and make:
#   make demo    create .venv, solve one problem with every solver, write a figure
#   make test    create .venv, run the tests
# make docs builds the site into docs/_build/html (formulas come from an npm package, so it needs npm)
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test docs linkcheck setup lint format bench bench-scale bench-guard stale solvers peers ratios costs coverage efficiency experiments picture mutate dist dist-check licences test-oldest test-newest test-pinned campaign rigour adversary tables ablation fuzz soak fuzz-readers clean

demo: .venv/.demo
	$(BIN)/pre-convex demo

# bytecode is kept, also where the environment says otherwise: tests start many processes
test: .venv/.tests
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

docs: .venv/.docs docs/lessons/.stamp
	$(BIN)/python -m sphinx -b html -W --keep-going -j auto docs docs/_build/html $(ARGS)

# sphinx-gallery runs a lesson again when the lesson has changed; what it prints may have changed with the package, too
docs/lessons/.stamp: $(shell find pre_convex -name '*.py' -not -path '*/lessons/*') docs/_ext/lesson_style.py constraints.txt
	rm -rf docs/lessons
	mkdir docs/lessons
	@touch $@

linkcheck: .venv/.docs
	$(BIN)/python -m sphinx -b linkcheck docs docs/_build/linkcheck $(ARGS)

# everything that a contributor needs
setup: .venv/.tests .venv/.lint

lint: .venv/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.all
	$(BIN)/python benchmarks/scale.py --only passes penalties single infeasible after memory small large $(ARGS)

bench-scale: .venv/.all
	$(PIP) --group peers
	$(BIN)/python benchmarks/scale.py $(ARGS)

# what bench-scale measures, at smaller sizes; fails at twice a goal
bench-guard: .venv/.all
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/guard.py $(ARGS)

peers: .venv/.all
	$(PIP) --group peers
	-$(PIP) --group peers-adapt
	$(BIN)/python benchmarks/peers.py $(ARGS)

# estimators of a ratio, this package's and others, where the ratio is known; about 25 minutes
ratios: .venv/.all
	$(PIP) --group peers
	-$(PIP) --group peers-adapt
	$(BIN)/python benchmarks/ratios.py $(ARGS)

solvers: .venv/.all
	$(BIN)/python benchmarks/solvers.py $(ARGS)

# stored results whose code has changed since; needs Python alone
stale:
	@$(PYTHON) benchmarks/stale.py

costs: .venv/.all
	$(BIN)/python benchmarks/costs.py $(ARGS)

efficiency: .venv/.all
	$(BIN)/python benchmarks/efficiency.py $(ARGS)

coverage: .venv/.all
	$(BIN)/python benchmarks/interval_coverage.py $(ARGS)
	$(BIN)/python benchmarks/explanation_coverage.py $(ARGS)

experiments: .venv/.all
	$(BIN)/python benchmarks/experiments.py $(ARGS)

picture: .venv/.tests
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/figures.py

mutate: .venv/.tests
	$(PIP) --group mutate
	$(BIN)/python benchmarks/mutation.py $(ARGS)

# wheel and sdist, then into an environment without anything else
dist: .venv/.tests
	rm -rf dist
	$(BIN)/python -m hatchling build

dist-check: dist
	$(BIN)/python benchmarks/dist_check.py

licences: .venv/.tests
	$(BIN)/python benchmarks/licences.py

# all tests with the lower bounds of pyproject.toml, with the newest of everything, with constraints.txt on another PYTHON
test-oldest test-newest test-pinned: test-%:
	$(PYTHON) -m venv --clear .venv-$*
	$(PYTHON) benchmarks/environments.py pins $* > .venv-$*/pins.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	.venv-$*/bin/python -m pip install --quiet --constraint .venv-$*/pins.txt --editable '.[all]' --group tests --group docs
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-$*/bin/python benchmarks/environments.py test $* $(ARGS)

campaign: .venv/.tests
	$(BIN)/python benchmarks/campaign.py $(ARGS)

rigour: .venv/.tests
	$(BIN)/python benchmarks/rigour.py $(ARGS)

adversary: .venv/.tests
	$(BIN)/python benchmarks/adversary.py $(ARGS)

ablation: .venv/.tests
	$(BIN)/python benchmarks/ablation.py $(ARGS)

fuzz: .venv/.tests fuzz-readers
	$(BIN)/python benchmarks/fuzz.py $(ARGS)

soak: .venv/.tests
	$(BIN)/python benchmarks/soak.py $(ARGS)

tables: .venv/.tests
	$(BIN)/python benchmarks/realistic_tables.py $(ARGS)

fuzz-readers: .venv/.tests
	$(PIP) --group fuzz
	$(BIN)/python tests/fuzz/fuzz_readers.py $(ARGS)

clean:
	rm -rf mutants .venv .venv-oldest .venv-newest .venv-pinned .venv-empty .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist docs/_build docs/lessons
	find . -name __pycache__ -prune -exec rm -rf {} +

# each target installs what it needs and no more; a stamp says that it is there and pyproject.toml has not changed since
.venv/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pre_convex needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	@touch $@

.venv/.demo: .venv/.created pyproject.toml constraints.txt
	$(PIP) --editable '.[cli,plot]'
	@touch $@

.venv/.all: .venv/.created pyproject.toml constraints.txt
	$(PIP) --editable '.[all]'
	@touch $@ .venv/.demo

.venv/.tests: .venv/.all
	$(PIP) --group tests --group docs
	@touch $@

.venv/.docs: .venv/.all
	$(PIP) --group docs
	@touch $@

.venv/.lint: .venv/.all
	$(PIP) --group lint
	@touch $@
