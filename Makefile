# `make demo` and `make test` set everything up by themselves; they need Python 3.11 or later and make.
PYTHON ?= python3.11
BIN := .venv/bin

export TF_CPP_MIN_LOG_LEVEL ?= 3
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export NO_MKDOCS_2_WARNING = 1

.PHONY: demo serve test test-fast soak test-parity test-image test-backends lint proto docs bench bench-env clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 24

# One environment. The stamp is written last, so that an interrupted install is done again.
.venv/installed: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; name another with: make PYTHON=python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

RUN := build/demo/run
VERSION := build/demo/models/fr-en/1

demo: .venv/installed  ## explain attention, train a French-English model, export, serve, translate; all in build/demo
	$(BIN)/keras-transformer walkthrough --output build/demo/walkthrough > /dev/null
	@# a run that is there goes on where it stands; one that is done costs seconds
	if [ -e $(RUN)/run.json ]; then \
		$(BIN)/keras-transformer train --run $(RUN) --resume; \
	else \
		$(BIN)/keras-transformer train --run $(RUN) --phrasebook fr-en; \
	fi
	$(BIN)/keras-transformer phrasebook fr-en --split test --pairs 1000 \
		--source build/demo/test.fr --target build/demo/test.en
	$(BIN)/keras-transformer evaluate $(RUN) --source build/demo/test.fr --reference build/demo/test.en
	printf 'Je suis étudiant.\nMerci.\nOù est la gare ?\n' | $(BIN)/keras-transformer translate $(RUN)
	$(BIN)/keras-transformer attention $(RUN) "Je suis étudiant." --output build/demo/attention.html
	@# a version is never overwritten: one that is there was made from this run
	[ -e $(VERSION) ] || $(BIN)/keras-transformer export $(RUN) --output $(VERSION) --quantize int8
	$(BIN)/keras-transformer verify $(VERSION)
	printf 'Je suis étudiant.\nMerci.\nOù est la gare ?\n' | $(BIN)/keras-transformer translate $(VERSION)
	@# a server at a port that is free, asked by the client, and drained
	$(BIN)/keras-transformer serve build/demo/models --port 0 --http-port none > build/demo/address & server=$$!; \
	trap 'kill $$server 2> /dev/null' EXIT; \
	until grep -q '^serving on' build/demo/address; do kill -0 $$server || exit 1; sleep 0.1; done; \
	printf 'Je suis étudiant.\nMerci.\nOù est la gare ?\n' | $(BIN)/keras-transformer translate \
		"grpc://$$(sed -n 's/^serving on //p' build/demo/address)" && kill $$server && wait $$server
	@echo "read build/demo/walkthrough/index.html and build/demo/attention.html, look at $(RUN)/curves.png"

serve: .venv/installed  ## serve the page and the models that `make demo` has exported; runs `make demo` first if needed
	[ -e $(VERSION) ] || $(MAKE) demo
	$(BIN)/keras-transformer serve build/demo/models

# Packages for the examples in Node.js and in the browser. Without them their tests are skipped with a notice.
examples/node_modules/installed: examples/package.json examples/package-lock.json
	@if command -v npm >/dev/null && (cd examples && npm ci --ignore-scripts --no-audit --no-fund --silent); then \
		touch $@; \
	else \
		echo "the examples' packages are not installed (no npm, or it failed): their tests will be skipped" >&2; \
	fi

# Two processes with one thread each: processes that use all cores slow each other down.
test: export OMP_NUM_THREADS = 1
test: export TF_NUM_INTRAOP_THREADS = 1
test: .venv/installed examples/node_modules/installed  ## the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-fast: export OMP_NUM_THREADS = 1
test-fast: export TF_NUM_INTRAOP_THREADS = 1
test-fast: .venv/installed  ## the tests without processes, training, exports and browser: two minutes
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'not slow and not soak and not image and not parity'

soak: .venv/installed  ## the tests that take long: every count in full
	$(BIN)/python -m pytest -m soak

test-parity: bench-env  ## compare imported models with transformers and CTranslate2's converter, live
	$(BIN)/python -m pytest -m parity -s tests/keras_transformer/pretrained

test-image: .venv/installed  ## build the image and serve from it; as root, takes minutes
	$(BIN)/python -m pytest -m image -s tests/deploy

proto: .venv/installed  ## the Python modules of serving/v1/translation.proto
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. --grpc_python_out=. serving/v1/translation.proto

docs: .venv/installed  ## the documentation site, in build/site
	$(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

lint: .venv/installed  ## run ruff, strict mypy, the import contracts, and buf for the protocol
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/buf lint --config '{"version":"v2","modules":[{"path":".","includes":["serving"]}],"lint":{"use":["STANDARD","COMMENTS"]}}'

.venv-backends/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-backends
	.venv-backends/bin/pip install --quiet --constraint constraints.txt torch==2.13.0
	.venv-backends/bin/pip install --quiet --constraint constraints.txt --editable '.[dev,backends]'
	@touch $@

test-backends: .venv-backends/installed  ## the layers and the models on each Keras backend
	for backend in tensorflow jax torch; do \
		KERAS_BACKEND=$$backend .venv-backends/bin/python -m pytest tests/keras_transformer/layers \
			tests/keras_transformer/models/test_backends.py tests/keras_transformer/models/test_language_models.py \
			tests/keras_transformer/models/test_recurrent.py \
			tests/keras_transformer/decoding/test_sampling.py \
			tests/keras_transformer/pretrained/families || exit 1; \
	done

.venv/bench-installed: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	@touch $@

bench-env: .venv/bench-installed  ## install the peers of the benchmarks

bench: bench-env  ## run the benchmarks beside the peers
	$(BIN)/python benchmarks/layers.py
	$(BIN)/python benchmarks/families.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/decoding.py
	$(BIN)/python benchmarks/runtimes.py
	$(BIN)/python benchmarks/imported.py
	$(BIN)/python benchmarks/student.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/exporting.py
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/overload.py

clean:  ## remove build/, but keep the environment
	rm -rf build
