# Two commands do everything on a fresh machine with Python (>= 3.11) and make:
#   make demo    set up .venv, solve one problem with every solver, write a figure
#   make test    set up .venv, run the tests
# make docs builds the site into docs/_build/html (formulas come from an npm package, so it needs npm)
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp

.PHONY: demo test docs linkcheck setup lint format bench bench-scale solvers peers costs coverage experiments picture mutate dist dist-check licences test-oldest test-newest test-pinned campaign fuzz soak fuzz-readers clean

demo: setup
	$(BIN)/pre-convex demo

# bytecode is kept, also where the environment says otherwise: tests start many processes
test: setup
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

docs: setup docs/lessons/.stamp
	$(BIN)/python -m sphinx -b html -W --keep-going -j auto docs docs/_build/html $(ARGS)

# sphinx-gallery runs a lesson again when the lesson has changed; what it prints may have changed with the package, too
docs/lessons/.stamp: $(shell find pre_convex -name '*.py' -not -path '*/lessons/*') docs/_ext/lesson_style.py constraints.txt
	rm -rf docs/lessons
	mkdir docs/lessons
	@touch $@

linkcheck: setup
	$(BIN)/python -m sphinx -b linkcheck docs docs/_build/linkcheck $(ARGS)

setup: $(STAMP)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python benchmarks/scale.py --only passes penalties small large $(ARGS)

bench-scale: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group peers
	$(BIN)/python benchmarks/scale.py $(ARGS)

peers: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group peers
	-$(BIN)/python -m pip install --quiet --constraint constraints.txt --group peers-adapt
	$(BIN)/python benchmarks/peers.py $(ARGS)

solvers: setup
	$(BIN)/python benchmarks/solvers.py $(ARGS)

costs: setup
	$(BIN)/python benchmarks/costs.py $(ARGS)

coverage: setup
	$(BIN)/python benchmarks/interval_coverage.py $(ARGS)
	$(BIN)/python benchmarks/explanation_coverage.py $(ARGS)

experiments: setup
	$(BIN)/python benchmarks/experiments.py $(ARGS)

picture: setup
	$(BIN)/python docs/picture.py

mutate: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group mutate
	$(BIN)/python benchmarks/mutation.py $(ARGS)

# wheel and sdist, then into an environment without anything else
dist: setup
	rm -rf dist
	$(BIN)/python -m hatchling build

dist-check: dist
	$(BIN)/python benchmarks/dist_check.py

licences: setup
	$(BIN)/python benchmarks/licences.py

# all tests with the lower bounds of pyproject.toml, with the newest of everything, with constraints.txt on another PYTHON
test-oldest test-newest test-pinned: test-%:
	$(PYTHON) -m venv --clear .venv-$*
	$(PYTHON) benchmarks/environments.py pins $* > .venv-$*/pins.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	.venv-$*/bin/python -m pip install --quiet --constraint .venv-$*/pins.txt --editable '.[all,ecos]' --group tests --group docs
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-$*/bin/python benchmarks/environments.py test $* $(ARGS)

campaign: setup
	$(BIN)/python benchmarks/campaign.py $(ARGS)

fuzz: setup fuzz-readers
	$(BIN)/python benchmarks/fuzz.py $(ARGS)

soak: setup
	$(BIN)/python benchmarks/soak.py $(ARGS)

fuzz-readers: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group fuzz
	$(BIN)/python tests/fuzz/fuzz_readers.py $(ARGS)

clean:
	rm -rf mutants .venv .venv-oldest .venv-newest .venv-pinned .venv-empty .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist docs/_build docs/lessons
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pre_convex needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,ecos]' \
		--group tests --group lint --group docs
	@touch $@
