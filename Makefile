# The verbs of this tree. `make` alone lists them.
PREFIX  ?= /usr/local
DESTDIR ?=
CARGO   ?= cargo
BUILD   ?= target/release

help:     ## list the verbs
	@sed -n 's/^\([a-z]*\): [^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

build:    ## the libraries and tools, optimised, in target/release
	$(CARGO) build --release -p mccl -p mccl-emu -p mccl-tools

demo: build  ## build, then run an all-reduce on four emulated devices, 8 B to 64 MiB, results checked
	$(BUILD)/all_reduce_perf -g 4 -b 8 -e 64M -f 2

test:     ## all that CI checks: format, lints, every test, programs from end to end
	@.ci/deps
	@BUILD=$(BUILD) .ci/checks

check:    ## format and lints alone
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

deep:     ## many more cases, operations beyond 4 GiB, and all tests once more with overflow and debug assertions on
	MCCL_TEST_CASES=3000 $(CARGO) test --release -p ffi-tests --test collectives
	$(CARGO) test --release -p ffi-tests --test teams -- --ignored beyond
	$(CARGO) test --workspace --no-fail-fast

abi:      ## header, symbols, layouts, C programs and the installed tree
	$(CARGO) test --release -p ffi-tests --test header --test symbols --test layout --test programs --test env_doc --test install

bless:    ## rewrite the committed artefacts that tests compare; review the difference
	MCCL_BLESS=1 $(CARGO) test --release -p ffi-tests --test header
	MCCL_BLESS=1 $(CARGO) test --release -p ffi-tests --test symbols --test layout --test programs --test teams --test env_doc

bench:    ## micro benchmarks of the hot paths
	$(CARGO) bench --workspace

install: build  ## install below PREFIX (default /usr/local); DESTDIR is put in front
	sh install.sh "$(BUILD)" "$(PREFIX)" "$(DESTDIR)"

.PHONY: help build demo test check deep abi bless bench install
