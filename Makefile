# Two commands do everything: `make demo` and `make test`. Both make their own environment first.
# CI gives its own: make test VENV=/somewhere/venv PYTHON=python3.12
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# make test EXTRAS=dev,gpu runs the tests of the Triton kernels too, in its interpreter
EXTRAS ?= dev
STAMP := $(VENV)/.installed-$(EXTRAS)
WORKERS ?= 2
SITE ?= site
DATA ?= .
# Empty on Python 3.10, which the pinned versions have left behind: make test CONSTRAINTS=
CONSTRAINTS ?= constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check audit format docs integration packaging attacks limits browser speed xclib experiments clean

help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Installed again only when what is to be installed changed.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(addprefix -c ,$(CONSTRAINTS)) -e '.[$(EXTRAS)]'
	@touch $@

demo: $(STAMP) ## the linear baseline, then PLANT, on made-up discharge summaries, then the codes of a note
	$(BIN)/libmultilabel --config linear_demo.yml
	$(BIN)/libmultilabel --config plant_demo.yml
	@run=$$(ls -td runs/demo_plant_demo_* | head -n 1) && \
	$(BIN)/plant predict $$run examples/note.txt --input text --names icd10 --output csv && \
	echo "The model is in $$run. The words that speak for each code of the note:" && \
	echo "  $(BIN)/plant explain $$run examples/note.txt --input text --names icd10"

test: $(STAMP) ## the unit tests (about four minutes on 2 cores)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(STAMP) ## lint, format, types, the order of the rooms, and whether tables and results agree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python benchmarks/tables.py --check
	$(BIN)/python benchmarks/claims.py --check

audit: ## known weaknesses of the pinned versions (asks a package index, so it is no part of `make check`)
	test -x $(VENV)-audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)-audit && $(VENV)-audit/bin/pip install --quiet pip-audit; }
	$(VENV)-audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) ## the documentation as a site, in site/; a warning is an error (`--quiet` would hide it)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir $(SITE)

integration: $(STAMP) ## whole configurations, baselines beside LibMultiLabel's own code (long)
	$(BIN)/python -m pytest -m integration

packaging: $(STAMP) ## build the wheel, install it elsewhere, use it there
	$(BIN)/python -m pytest -m packaging

attacks: $(STAMP) ## kill, tear, mutate and flood; the table of docs/reliability.md (about 10 minutes)
	$(BIN)/python -m pytest -n $(WORKERS) tests/attacks -m "attacks or not attacks" --write-reliability

limits: $(STAMP) ## what is promised at its largest size, with 1, 2 and 4 threads (about an hour, 12 GiB)
	$(BIN)/python -m pytest -m limits tests

browser: $(STAMP) ## whole sittings at the desk in Chromium (`apt-get install chromium`); skipped where it is not there
	$(BIN)/python -m pytest -m browser tests/serving

speed: $(STAMP) ## kernels against the plain formula and LibMultiLabel's modules: one table of ratios (minutes)
	mkdir -p .benchmarks
	$(BIN)/python -m pytest benchmarks/speed -o addopts= --benchmark-only --benchmark-quiet -q \
		--benchmark-json=.benchmarks/speed.json
	$(BIN)/python benchmarks/speed/table.py .benchmarks/speed.json

# pyxclib (its distribution: xclib) is on no package index; XCLIB=FOLDER takes a checkout. Results are made with it where it is.
XCLIB ?= git+https://github.com/kunaldahiya/pyxclib
PIP := GIT_TERMINAL_PROMPT=0 GIT_HTTP_LOW_SPEED_LIMIT=1000 GIT_HTTP_LOW_SPEED_TIME=20 $(BIN)/python -m pip

xclib: $(STAMP) ## pyxclib from its repository, for propensity-scored metrics; says so where that cannot be
	@$(PIP) show --quiet xclib > /dev/null 2>&1 \
		|| { $(PIP) install --quiet six cython && $(PIP) install --quiet --no-build-isolation --no-deps "$(XCLIB)"; } > /dev/null 2>&1 \
		|| echo "pyxclib could not be installed from $(XCLIB): without it this package computes the same numbers itself"

# Results were made with one thread a run: OMP_NUM_THREADS=2 takes two. DATA is the folder that holds data/.
experiments: xclib ## list the runs that the tables and claims lack; RUN=1 makes them, MINUTES=60 as many as fit, ONLY=claims some
	cd $(DATA) && OMP_NUM_THREADS=$(or $(OMP_NUM_THREADS),1) $(abspath $(BIN))/python \
		$(CURDIR)/benchmarks/experiments/missing.py $(ONLY) $(if $(RUN),--run) $(if $(MINUTES),--minutes $(MINUTES))

clean: ## remove the environment, builds and tool caches; runs/ stays
	rm -rf $(VENV) $(VENV)-audit build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
