# Two commands are enough: `make run` and `make test`. Both work from a fresh clone on Debian 12 with git, make and apt.

JOBS ?= $(shell nproc)
# Many tests wait for others, for a browser or for time to pass: three of them keep two cores busy.
TEST_JOBS ?= $(shell expr $(JOBS) + \( $(JOBS) + 1 \) / 2)
PROMPT ?= Tell a story about a small boat that wanted to see the sea.
SHAPE ?= dense-220m
FUZZ_SECONDS ?= 30
# What is formatted: all C and C++ but CUDA's own files, whose comments have tables that clang-format takes for text.
SOURCES = $(shell git ls-files --cached --others --exclude-standard 'include/*' $(foreach folder,src tests examples cmake,'$(folder)/*.h' '$(folder)/*.cc' '$(folder)/*.c'))

.DEFAULT_GOAL := build
.PHONY: build run test test-dev test-long test-sanitized test-tsan bench package gpu gpu-programs gpu-test gpu-bench fuzz format format-check tidy clean deps deps-dev deps-package

deps:
	@tools/install_deps
deps-dev:
	@tools/install_deps dev
deps-package:
	@tools/install_deps package

build: deps
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

# The model that ships with the program, and its drafter, which generate finds by itself.
run: deps
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target paceline_program
	@build/release/paceline generate --verbose --seed 1 -p '$(PROMPT)'

test: build
	@tools/install_deps test || true
	@ctest --test-dir build/release --output-on-failure -j $(TEST_JOBS) -LE long

# The same tests under AddressSanitizer and UndefinedBehaviorSanitizer (the build that fuzzers are of, too), and under
# ThreadSanitizer those of the rooms with threads. ROOMS="base engine" names others.
test-dev: ROOMS ?= $(patsubst src/%/,%,$(sort $(dir $(wildcard src/*/*_test.cc))))
test-dev: deps-dev
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS) --target $(addsuffix _test,$(ROOMS))
	@JOBS=$(JOBS) tools/run_sanitized build/dev $(ROOMS)

test-tsan: ROOMS ?= base engine proof server api
test-tsan: deps
	@cmake --preset tsan
	@cmake --build --preset tsan -j $(JOBS) --target $(addsuffix _test,$(ROOMS))
	@JOBS=$(JOBS) tools/run_sanitized build/tsan $(ROOMS)

# What reads bytes of strangers and counts memory under AddressSanitizer, fuzzed for a while, what has threads under
# ThreadSanitizer, and the format. The longest rooms come first, so that none is waited for alone.
test-sanitized:
	@$(MAKE) format-check
	@$(MAKE) test-tsan ROOMS="server engine base"
	@$(MAKE) test-dev ROOMS="server session engine grammar media tokenizer state weights base"
	@$(MAKE) fuzz FUZZ_SECONDS=20

# Everything: the tests of `make test`, those labelled long, the sanitizers, and each fuzzer for a while.
test-long: test test-dev test-tsan fuzz
	@ctest --test-dir build/release --output-on-failure -L long

bench: build
	@for format in q8 q4 bf16; do build/release/paceline bench --synthetic $(SHAPE) --format $$format; done

# build/paceline_VERSION_ARCH.deb: program, model, library, manual pages, completions and a service.
package: deps-package
	@cmake --preset package
	@cmake --build --preset package -j $(JOBS)
	@tools/make_package build/package build

# The program for CUDA devices, build/cuda/paceline: needs nvcc, and no device.
gpu: deps
	@cmake --preset cuda
	@cmake --build --preset cuda -j $(JOBS) --target paceline_program

# The CUDA kernels with what checks and measures them: needs nvcc, and no device.
gpu-programs: deps
	@cmake --preset cuda
	@cmake --build --preset cuda -j $(JOBS) --target gpu_check gpu_bench paceline_provoke

# On a machine with a CUDA device.
gpu-test: gpu-programs
	@cmake --build --preset cuda -j $(JOBS) --target paceline_program gpu_engine
	@tools/gpu_test build/cuda

gpu-bench: gpu-programs
	@build/cuda/gpu_bench --json build/cuda/gpu_bench.json

fuzz: deps-dev
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS) --target fuzzers
	@JOBS=$(JOBS) tools/run_fuzzers build/dev $(FUZZ_SECONDS)

format: deps-dev
	@clang-format -i $(SOURCES)

# Fails where `make format` would change something.
format-check: deps-dev
	@clang-format --dry-run -Werror $(SOURCES)

tidy: deps-dev
	@cmake --preset tidy
	@clang-tidy -p build/tidy --quiet $(filter src/%.cc,$(SOURCES))

clean:
	@rm -rf build
