# Kina: build, test, check. `make help` lists the targets.
#
# Every source file is found by wildcard: a new file in runtime/, kernels/, ad/ or interp/ is part of the
# library, one in interp/tools/ or interp/tools/repl/ of the interpreter, tests/unit/test_NAME.c holds suite_NAME, and each
# tests/NAME.c is a test program of its own; tests/certify/ draws the programs of one. Variants: SAN=1 (ASan
# and UBSan, in build/san), CC=clang.

ifeq ($(origin CC),default)
CC := gcc
endif
export CC
, := ,
B := build$(if $(SAN),/san)

CFLAGS   := -O2 -g
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -I. -ffp-contract=off $(CFLAGS) $(SANITIZE) \
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion
SANITIZE := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
LIBS     := -lsleef -lz -lm -lpthread -ldl
TOOL_LIBS := -lcjson
PYTHON    = $(shell command -v /usr/bin/python3 || command -v python3)
EXAMPLE  := examples/digits.kina
PREFIX   := /usr/local
drawn    := all,auto,slots=10,slots=5,slots=20,slots=40,memory=8MiB,memory=2MiB,memory=4MiB,memory=16MiB,memory=32MiB

library  := $(patsubst %.c,$B/obj/%.o,$(wildcard runtime/*.c kernels/*.c ad/*.c interp/*.c))
tools    := $(patsubst %.c,$B/obj/%.o,$(wildcard interp/tools/*.c interp/tools/repl/*.c))
units    := $(patsubst %.c,$B/obj/%.o,$(wildcard tests/unit/*.c) bench/exact.c) $(filter-out %/main.o,$(tools))
programs := $(patsubst tests/%.c,$B/tests/%,$(wildcard tests/*.c))
drawers  := $(patsubst %.c,$B/obj/%.o,$(wildcard tests/certify/*.c))
bench    := $(patsubst %.c,$B/obj/%.o,$(wildcard bench/*.c)) $(filter-out %/main.o,$(tools))
commands := kina-interp kina-bench
forms    := man bash zsh fish
place_of_man  = share/man/man1/$1.1
place_of_bash = share/bash-completion/completions/$1
place_of_zsh  = share/zsh/site-functions/_$1
place_of_fish = share/fish/vendor_completions.d/$1.fish
installed = $(addprefix bin/,$(commands)) $(foreach c,$(commands),$(foreach form,$(forms),$(call place_of_$(form),$c)))
folders  := runtime kernels ad interp interp/tools interp/tools/repl bench tests tests/unit tests/certify
sources   = $(wildcard $(addsuffix /*.c,$(folders)))
headers   = $(wildcard $(addsuffix /*.h,$(folders)))
build     = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all tests run test certify-long deps peers install uninstall bench bench-plots lint format layers mutants clean help FORCE
.DELETE_ON_ERROR:

all: $B/kina-interp      ## build the interpreter, build/kina-interp (the default)
tests: all $B/tests/unit $(programs) $B/kina-bench

run:                     ## install what is missing, build, and train the digit classifier of examples/
	@sh tests/install.sh build
	@$(build) all
	$B/kina-interp $(EXAMPLE)

test:                    ## install what is missing, build, and run every test (SAN=1: all of it sanitized)
	@sh tests/install.sh build test
	@$(build) tests
	@$(PYTHON) tests/run $(if $(SAN),--sanitized) $(if $(STRICT),--strict)

certify-long:            ## compare printed gradients with the engine's on 100,000 random programs, on all cores
	@sh tests/install.sh build
	@$(build) $B/tests/certify
	@$(PYTHON) tests/certify/long.py $B/tests/certify

deps:                    ## install what building and testing need, from Debian's packages
	@sh tests/install.sh build test

peers:                   ## install what only cross-checks need: PyTorch and MLIR
	@sh tests/install.sh build test peers

install: all $B/kina-bench ## put programs, manual pages and completions under PREFIX (/usr/local), within DESTDIR
	install -d $(sort $(dir $(addprefix $(DESTDIR)$(PREFIX)/,$(installed))))
	install -m 755 $(addprefix $B/,$(commands)) $(DESTDIR)$(PREFIX)/bin
	$(foreach c,$(commands),$(foreach form,$(forms),$B/$c --generate $(form) >$(DESTDIR)$(PREFIX)/$(call place_of_$(form),$c) &&)) true

uninstall:               ## remove what install puts there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,$(installed))

bench: $B/kina-bench     ## build the benchmarks, build/kina-bench (its --help lists them)

bench-plots:             ## measure checkpoint policies and draw the pictures of docs/checkpointing.md
	@sh tests/install.sh build plots
	@$(build) $B/kina-bench
	$B/kina-bench checkpoint --n 1000 --k sweep --policies $(drawn) --plot docs/checkpointing.svg --plot-each

lint:                    ## clang-tidy and cppcheck; any finding fails
	@sh tests/install.sh build test lint
	@$(build) $B/suites.def
	@printf '%s\n' $(sources) | xargs -n 1 -P $(shell nproc) sh -c 'clang-tidy --quiet --warnings-as-errors="*" "$$@" -- \
	  $(filter-out -W%,$(ALL_CFLAGS)) -I$B' clang-tidy
	@cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr --suppressions-list=tests/cppcheck.txt \
	  --enable=warning,performance,portability -j $(shell nproc) -D_GNU_SOURCE -D__linux__ -I. -I$B $(sources)

format:                  ## lay out every C file as .clang-format says
	@sh tests/install.sh format
	clang-format -i $(sources) $(headers)

layers:                  ## no #include points up: runtime <- kernels <- ad <- interp <- interp/tools
	@sh tests/layers.sh

mutants:                 ## apply each fault of tests/mutants/list to a copy: the tests must notice it
	@sh tests/install.sh build test
	@$(build) tests
	@$(PYTHON) tests/mutants/run.py

clean:                   ## remove build/
	rm -rf build

help:                    ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

# ---- what is built ----

$B/kina-interp: $(tools) $B/libkina.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(TOOL_LIBS) $(LIBS)

$B/kina-bench: $(bench) $B/libkina.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(TOOL_LIBS) $(LIBS)

$B/libkina.a: $(library) $B/members
	@rm -f $@
	@echo "ar qcs $@"; ar qcs $@ $(library)

$B/tests/unit: $(units) $B/libkina.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(shell pkg-config --libs check) $(TOOL_LIBS) $(LIBS)

$(programs): $B/tests/%: $B/obj/tests/%.o $B/libkina.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
$B/tests/certify: $(drawers)

$B/obj/%.o: %.c $B/flags | $B/headers
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(FILE_CFLAGS) -MMD -MP -c -o $@ $<

# The loops of each instruction set; the machine's is chosen when the program starts.
ifeq ($(shell uname -m),x86_64)
$B/obj/kernels/lines_avx2.o:   FILE_CFLAGS = -mavx2 -mfma
$B/obj/kernels/lines_avx512.o: FILE_CFLAGS = -mavx512f -mavx2 -mfma
endif
# The commit, for --version, reaches one file alone.
$B/obj/interp/tools/version.o: FILE_CFLAGS = -DKINA_VERSION='"$(shell cat $B/version)"'
$B/obj/interp/tools/version.o: $B/version
# The list of unit suites is that of the files tests/unit/test_*.c.
$B/obj/tests/unit/main.o: FILE_CFLAGS = -I$B
$B/obj/tests/unit/main.o: $B/suites.def

# Files that hold a fact and change only with it.
write_if_new = @mkdir -p $(@D); printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) >$@
$B/flags: FORCE
	$(call write_if_new,'$(CC) $(ALL_CFLAGS)')
$B/members: FORCE
	$(call write_if_new,$(library))
$B/version: FORCE
	$(call write_if_new,"$$(git describe --always --dirty 2>/dev/null || echo unknown)")
$B/suites.def: FORCE
	$(call write_if_new,$(patsubst tests/unit/test_%.c,'SUITE(%)',$(sort $(wildcard tests/unit/test_*.c))))

# A missing header is named with the package that brings it, once, before the first compilation.
$B/headers: tests/install.sh
	@sh tests/install.sh --check build
	@mkdir -p $(@D) && touch $@

-include $(patsubst %.o,%.d,$(library) $(tools) $(units) $(bench) $(drawers)) $(patsubst $B/tests/%,$B/obj/tests/%.d,$(programs))
