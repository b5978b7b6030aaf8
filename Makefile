# Each target does its own set-up: a virtual environment with pinned, hashed packages. What is
# imported of them is compiled then; the rest, a third of the installing, never.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test collected integrations transport chaos gateway soak fuzz bench panel lint clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   a recorded session through every service, killed and replayed"
	@echo "make test   every quick test, on a real nats-server"
	@echo "make integrations  the frameworks' examples, with the real packages (1.3 GB to install)"
	@echo "make transport  the connection with each version of nats-py that is allowed"
	@echo "make chaos  the slow tests: clusters, lost servers, full disks, minutes of kills"
	@echo "make gateway  the MCP gateway with hosts and servers of others, installed for it"
	@echo "make fuzz   hostile tool results, events and requests, by SEEDS (1 2 3 4 5)"
	@echo "make attack every attack on a server with the shipped permissions, by SEEDS"
	@echo "make soak   a steady load with kills for MINUTES (10), memory and files reported"
	@echo "make lint   ruff and mypy"
	@echo "make bench  the measurements, with baselines in the same run"
	@echo "make panel  what prompts of real sessions keep: ONLY=grounding,speed HALF=confirm SAMPLE=60"

# Two processes, each with every other package: one alone is busy with a single core.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --require-hashes
$(STAMP): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON); install Python 3.11 or set PYTHON=…" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@for half in 0 1; do \
	  awk -v half=$$half '/^[a-z]/ {number++} number % 2 == half' requirements/dev.txt >$(VENV)/half$$half.txt; \
	done
	@$(INSTALL) -r $(VENV)/half0.txt & first=$$!; $(INSTALL) -r $(VENV)/half1.txt; second=$$?; \
	  wait $$first && exit $$second
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: $(STAMP)
	$(BIN)/weft demo

# The tests start hundreds of processes: each reads modules that are compiled, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

# Most tests wait, for servers that start, die and elect; so more files run at once than there are
# cores: the proofs with kills and under load first, since they wait the longest, the rest in the
# order of their folders: the short ones, of tests/unit, come last and fill the gaps. What holds times
# against each other needs the machine for itself: `make attack` runs it. Seeds and counts are printed
# at the end. The profile `ci` of Hypothesis gives 30 examples, the same every time, and lets each
# take as long as it needs; without it they are new each time.
PYTEST := $(BIN)/python -m pytest -q -m "not slow" --hypothesis-profile=ci
FILES := --dist loadfile --no-loadscope-reorder
PROOFS := tests/crash tests/integration/test_attack.py \
  $(wildcard tests/integration/test_hostile_*.py tests/integration/test_scale_*.py)
test: $(STAMP)
	+$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint collected
	$(PYTEST) -n 5 $(FILES) $(PROOFS) tests

# Every test is imported once beside the checks, on the other core: else each process above
# compiles all of them for itself.
collected: $(STAMP)
	@$(PYTEST) --collect-only -qq >/dev/null || $(PYTEST) --collect-only -qq

# The frameworks in an environment of their own: 1.3 GB, which is why `make test` leaves them out.
FRAMEWORKS := .venv-frameworks
FRAMEWORKS_STAMP := $(FRAMEWORKS)/.installed
$(FRAMEWORKS_STAMP): requirements/frameworks.txt requirements/build.txt pyproject.toml
	test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	for lock in frameworks build; do $(FRAMEWORKS)/bin/python -m pip install --quiet \
	  --disable-pip-version-check --no-deps --require-hashes -r requirements/$$lock.txt || exit 1; done
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

integrations: $(STAMP) $(FRAMEWORKS_STAMP)
	$(BIN)/python -m pytest -q -m slow tests/frameworks

# Each minor version of nats-py in a folder that is found before the locked packages: the contract of
# a connection, and TLS, which needs its internals. `make test` runs the same with the locked version.
NATS_PY ?= 2.14 2.15 2.16
NATS_PY_FOLDERS := $(CURDIR)/.venv-nats-py
TRANSPORT := tests/unit/test_nats_internals.py $(addprefix tests/integration/test_,log_transport.py signing_in.py)
transport: $(STAMP)
	@for minor in $(NATS_PY); do echo "nats-py $$minor"; folder=$(NATS_PY_FOLDERS)/$$minor; \
	  test -d $$folder/nats || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --no-deps --target $$folder "nats-py==$$minor.*" || exit 1; \
	  WEFT_NATS_PY=$$minor PYTHONPATH=$$folder $(BIN)/python -m pytest -q $(TRANSPORT) || exit 1; \
	done

chaos: $(STAMP)
	$(BIN)/python -m pytest -q -m slow tests/chaos tests/crash

# A framework and the inspector are installed for these, into the user's cache folder.
gateway: $(STAMP)
	$(BIN)/python -m pytest -q -m slow tests/integration/test_gateway_hosts.py

SEEDS ?= 1 2 3 4 5
fuzz: $(STAMP)
	WEFT_FUZZ_EXAMPLES=5000 $(BIN)/python -m pytest -q tests/property/test_firewall_survival.py
	for seed in $(SEEDS); do \
	  WEFT_SEED=$$seed $(BIN)/python -m pytest -q tests/integration/test_hostile_*.py || exit 1; done

# What draws by a seed runs with each of SEEDS, every other attack once.
DRAWN := $(addprefix tests/integration/test_,attack.py \
  $(addprefix hostile_,events.py operating.py places.py questions.py requests.py))
ATTACKS := $(filter-out $(DRAWN),$(wildcard tests/integration/test_hostile_*.py \
  tests/integration/test_permissions_*.py)) \
  $(addprefix tests/integration/test_,forged_ids.py erased_for_good.py deployment_secret.py) \
  $(addprefix tests/unit/test_,ranges.py runtime_fair_queueing.py linear_time.py language_model.py \
    firewall_guards.py firewall_context.py \
    drilldown_hidden_characters.py)
attack: $(STAMP)
	$(BIN)/python -m pytest -q $(ATTACKS)
	for seed in $(SEEDS); do \
	  WEFT_SEED=$$seed $(BIN)/python -m pytest -q $(DRAWN) || exit 1; done

soak: $(STAMP)
	$(BIN)/python -m tests.soak $(MINUTES)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m tests.bench $(ONLY)

# Sessions at even places are tuned on; HALF=confirm reads the others, once per finished design.
HALF ?= tuned
panel: $(STAMP)
	$(BIN)/python -m tests.bench.panel --half $(HALF) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(BUDGETS),--budgets $(BUDGETS))

clean:
	rm -rf $(VENV) $(FRAMEWORKS) $(NATS_PY_FOLDERS) .mypy_cache .ruff_cache .pytest_cache .hypothesis
