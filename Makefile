# The verbs of this tree. `make` alone lists them.
PREFIX  ?= /usr/local
DESTDIR ?=
CARGO   ?= cargo
BUILD   ?= target/release

help:     ## list the verbs
	@sed -n 's/^\([a-z]*\): [^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

build:    ## the libraries and tools, optimised
	$(CARGO) build --release --workspace --exclude ffi-tests

demo: build  ## build, then run an all-reduce on four emulated devices
	$(BUILD)/all_reduce_perf -g 4 -b 8 -e 64M -f 4

test:     ## all tests
	$(CARGO) test --workspace

check:    ## format and lints, as warnings that stop
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

abi:      ## header, symbols, layouts, C programs and the installed tree
	$(CARGO) test -p ffi-tests --test header --test symbols --test layout --test programs --test env_doc --test install

bless:    ## rewrite the committed artefacts that tests compare; review the difference
	MCCL_BLESS=1 $(CARGO) test -p ffi-tests --test header
	MCCL_BLESS=1 $(CARGO) test -p ffi-tests --test symbols --test layout --test programs --test env_doc

bench:    ## micro benchmarks
	$(CARGO) bench --workspace

install: build  ## install below PREFIX (default /usr/local); DESTDIR is put in front
	sh install.sh "$(BUILD)" "$(PREFIX)" "$(DESTDIR)"

.PHONY: help build demo test check abi bless bench install
