# SPDX-License-Identifier: Apache-2.0
# One non-recursive Makefile. `make help` lists the targets.

# None of make's own rules: one of them takes a folder for what it can make of the .c of that name.
MAKEFLAGS += -r

BUILD   ?= build
PREFIX  ?= /usr
DESTDIR ?=
UNITDIR ?= /usr/lib/systemd/system
SAN     ?=
WERROR  ?=
V       ?=
ifeq ($(origin CC),default)
CC := gcc
endif
Q := $(if $(V),,@)
# Silent with -s, whole commands with V=1.
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-5s %s\n' $(1) $(2))

VERSION := $(shell sed -n 's/^\#\# \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wmissing-prototypes -Wcast-qual -Wvla \
            -Wundef -Wstrict-prototypes -Wpointer-arith -Wwrite-strings
HARDEN   := -fstack-protector-strong -fPIE -fno-common -fno-strict-aliasing
OPTIMIZE := -O2 -D_FORTIFY_SOURCE=2
DEBUG    := -g
ifneq ($(SAN),)
# Lines, which is what their reports name; variables take half as long again to compile.
DEBUG    := -g1
OPTIMIZE := -O1 -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all
endif
ifneq ($(WERROR),)
WARNINGS += -Werror
endif

CPPFLAGS += -D_GNU_SOURCE -DFAIRLEAD_VERSION='"$(VERSION)"' -Ilib -I. -I$(BUILD)/gen -isystem /usr/include/libnl3
CFLAGS   += -std=gnu17 $(DEBUG) $(OPTIMIZE) $(WARNINGS) $(HARDEN)
LDFLAGS  += -pie -Wl,-z,relro -Wl,-z,now -Wl,--as-needed $(if $(SAN),-fsanitize=$(SAN))

# --- sources -------------------------------------------------------------------------------------
# A library is a folder below lib/. A program is a folder with a main.c; what has a main.c below it is another
# program. How a program divides its files into folders is its own business: all of them are found here.
SOURCES   := $(sort $(shell find lib vipd prism etcdwatch netconf cli -name '*.c'))
PROGRAMS := vipd prism prism-probe etcdwatch etcdwatch-worker netconf netconf-probe fairlead
INNER     := prism/probe etcdwatch/worker netconf/probe/web

objects   = $(patsubst %.c,$(BUILD)/%.o,$(1))
# The sources below a folder, but for main.c and for the programs inside.
within    = $(foreach inner,$(filter $(1)/%,$(INNER)),$(filter $(inner)/%,$(SOURCES)))
tree      = $(filter-out %/main.c $(call within,$(1)),$(filter $(1)/%,$(SOURCES)))
# Sources of a program by their names, wherever in its folder they stand.
named     = $(foreach name,$(2),$(filter $(1)/%/$(name).c,$(SOURCES)))

PROTO_C   := $(BUILD)/gen/etcd/proto/etcd.pb-c.c
PROTO_H   := $(PROTO_C:.c=.h)
PROTO_O   := $(PROTO_C:.c=.o)

# The format of the record, which the worker and the tests read as etcdwatch does.
SEGMENT   := $(call named,etcdwatch,segment_parse segment_read segment_write)

# Archives, and the system's libraries that each needs.
base_SOURCES      := $(call tree,lib/base)
base_LIBS         := -lyaml -ljansson -lev -lm
net_SOURCES       := $(call tree,lib/net)
net_LIBS          := -lnl-genl-3 -lnl-3 -lnftnl -lmnl
web_SOURCES       := $(call tree,lib/web)
web_LIBS          := -lcurl -lexpat -lssl -lcrypto
etcd_SOURCES      := $(call tree,lib/etcd) $(PROTO_C)
etcd_LIBS         := -lgrpc -lgpr -lprotobuf-c -lnghttp2 -lssl -lcrypto -lpthread
bolt_SOURCES      := $(call tree,lib/bolt)
bolt_LIBS         := -lcrypto -lpthread
vipd_SOURCES      := $(call tree,vipd)
prism_SOURCES     := $(call tree,prism)
probe_SOURCES     := $(call tree,prism/probe) prism/endpoints.c
etcdwatch_SOURCES := $(call tree,etcdwatch)
# The worker reads the catalogue too, and the record.
worker_SOURCES    := $(call tree,etcdwatch/worker) $(SEGMENT) \
                     $(call named,etcdwatch,catalog catalog_json recordbase)
worker_LIBS       := -larchive -lzstd -lpthread
netconf_SOURCES   := $(call tree,netconf)
cli_SOURCES       := $(call tree,cli)
cli_LIBS          := -lncursesw -ltinfo
wirelog_SOURCES   := $(wildcard tests/tools/wirelog/*.c)
traffic_SOURCES   := $(wildcard $(addprefix tests/tools/,client/*.c server/*.c traffic/*.c))
traffic_LIBS      := -lssl -lcrypto
etcdtest_SOURCES  := $(wildcard tests/unit/etcdtest/*.c)
benchtools_SOURCES := $(wildcard bench/tools/common/*.c)
benchtools_LIBS   := -lssl -lcrypto
ARCHIVES := $(patsubst %_SOURCES,%,$(filter %_SOURCES,$(.VARIABLES)))

# --- what is linked of what ----------------------------------------------------------------------
TEST_TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/tools/*.c))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ_TESTS := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH_TOOLS := $(patsubst %,$(BUILD)/bench/%,load origin cost fill talk heard past scale handshake)
DOC_KEYS   := $(addprefix $(BUILD)/docs/keys_,vipd prism netconf)
DISK_FAULTS := $(BUILD)/tests/fault/etcdwatch $(BUILD)/tests/fault/etcdwatch-worker
NO_FENCE   := $(BUILD)/tests/fault/vipd-no-fence
NETCONF_DIES := $(BUILD)/tests/fault/netconf-dies

# Calls that tests make fail, count, or answer themselves.
FAULT_CALLS := open openat read __read_chk write fsync close fchmod rename unlink pipe2 fork waitpid
DISK_CALLS := open opendir readdir read __read_chk pread write fsync close fchmod mkdir rename renameat2 \
              unlink unlinkat access stat statvfs
PACE_CALLS := mono_now_us ev_timer_start disk_do fdatasync
MEMBER_CALLS := rtnl_addr_list etcd_endpoints etcd_endpoint_is_connected etcd_endpoint_status etcd_call_cancel \
                clusterid_get
LEASE_CALLS := mono_now_us ev_timer_start etcd_lease_ttl etcd_call_cancel

# row: a target below $(BUILD), or many of them with a %; what it is linked of beside its own source (sources,
# then archives, users before what they use; all are linked with base); the calls that are wrapped. The first row
# that fits a target is the target's. Programs have modules of the same names (config, report), so a test links
# one program only.
row = $(eval ROWS += $(strip $(1)))$(eval $(strip $(1))_OF := $(2))$(eval $(strip $(1))_WRAPS := $(3))

$(call row,bin/vipd,                vipd/main.c vipd net web etcd)
$(call row,bin/prism,               prism/main.c prism web)
$(call row,bin/prism-probe,         prism/probe/main.c probe web)
# Of the library about bbolt only the checksum, for the record.
$(call row,bin/etcdwatch,           etcdwatch/main.c etcdwatch bolt web etcd)
$(call row,bin/etcdwatch-worker,    etcdwatch/worker/main.c worker bolt web)
$(call row,bin/netconf,             netconf/main.c netconf net web)
# Of the library about etcd only how it is reached, which needs nothing of gRPC.
$(call row,bin/netconf-probe,       $(filter netconf/probe/web/%,$(SOURCES)) netconf net web etcd)
$(call row,bin/fairlead,            cli/main.c cli bolt)

# vipd without its fences, for the story that proves that stories can fail.
$(call row,tests/fault/vipd-no-fence, vipd/main.c tests/fault/no_fence.c vipd net web etcd,rtnl_addr_add rtnl_addr_replace nftgate_guard)
# netconf that dies in the middle of a change, or stops undoing one.
$(call row,tests/fault/netconf-dies, netconf/main.c tests/fault/netconf_dies.c netconf net web,kernel_carry_out undo_start probes_judge)
# etcdwatch and its worker, whose calls on files can fail one by one.
$(call row,tests/fault/etcdwatch,   etcdwatch/main.c tests/fault/disk_calls.c etcdwatch bolt web etcd,$(DISK_CALLS))
$(call row,tests/fault/etcdwatch-worker, etcdwatch/worker/main.c tests/fault/disk_calls.c worker bolt web,$(DISK_CALLS))

$(call row,tests/unit/test_mem,     ,open_memstream)
$(call row,tests/unit/test_election, $(wildcard tests/unit/electionworld*.c) vipd web)
$(call row,tests/unit/test_prism_%, prism probe web)
$(call row,tests/unit/test_etcdwatch_judge_%, tests/unit/judgeworld.c etcdwatch bolt)
$(call row,tests/unit/test_etcdwatch_recordwriter, etcdwatch bolt web,fdatasync)
$(call row,tests/unit/test_etcdwatch_recordpace, etcdwatch bolt web,$(PACE_CALLS))
$(call row,tests/unit/test_etcdwatch_recordleases, etcdwatch,$(LEASE_CALLS))
$(call row,tests/unit/test_etcdwatch_faults, cli etcdwatch etcdtest bolt web)
$(call row,tests/unit/test_etcdwatch_%, etcdwatch etcdtest bolt etcd web)
$(call row,tests/unit/test_etcd_%,  etcdtest etcd)
$(call row,tests/unit/test_bolt_%,  bolt)
$(call row,tests/unit/test_worker_faults, tests/fault/worker_calls.c worker bolt web,$(FAULT_CALLS))
$(call row,tests/unit/test_worker_exchange, worker bolt web,renameat2 syncfs)
$(call row,tests/unit/test_worker_%, worker bolt web)
# Plans' steps are taken by a kernel of the tests; one test counts what the planner compares.
PLAN_TEST := $(wildcard $(addprefix tests/unit/,fakekernel*.c plan*.c))
$(call row,tests/unit/test_netconf_plan_work, $(PLAN_TEST) netconf net web,strcmp addr_equal prefix_contains)
$(call row,tests/unit/test_netconf_plan%, $(PLAN_TEST) netconf net web)
$(call row,tests/unit/test_netconf_%, netconf net web)
$(call row,tests/unit/test_bench_scale, bench/tools/scale/model.c prism web)
$(call row,tests/unit/test_bench_%, benchtools)
$(call row,tests/unit/test_localmember, vipd net web etcd,$(MEMBER_CALLS))
$(call row,tests/unit/test_%,       wirelog traffic etcdtest vipd cli net web etcd bolt)

$(call row,tests/fuzz/fuzz_cli_%,   cli bolt)
$(call row,tests/fuzz/fuzz_worker_%, worker bolt web)
$(call row,tests/fuzz/fuzz_etcdwatch_%, etcdwatch bolt etcd web)
$(call row,tests/fuzz/fuzz_netconf_%, netconf net web)
$(call row,tests/fuzz/fuzz_etcd_answer, etcd,call_start pool_find)
$(call row,tests/fuzz/fuzz_etcd_%,  etcd)
$(call row,tests/fuzz/fuzz_prism_%, prism probe web)
$(call row,tests/fuzz/fuzz_bolt%,   bolt)
$(call row,tests/fuzz/fuzz_%,       vipd net etcd web)

$(call row,tests/tools/recordcat,   $(SEGMENT) web bolt)
$(call row,tests/tools/%,           wirelog traffic net)

# What the tables of a daemon's configuration say, for the reference pages.
$(call row,docs/keys_vipd,          docs/keys.c vipd net web etcd)
$(call row,docs/keys_prism,         docs/keys.c prism web)
$(call row,docs/keys_netconf,       docs/keys.c netconf net web)

$(call row,bench/fill,              etcd)
$(call row,bench/past,              worker bolt web)
$(call row,bench/heard,             net)
# prism's judgement and vipd's arithmetic.
$(call row,bench/scale,             vipd/timing.c prism web)
$(call row,bench/%,                 benchtools)

# The default goal.
.PHONY: all
all: $(PROGRAMS:%=$(BUILD)/bin/%) $(BUILD)/bin/netconf-dhcp-hook

# The row of a target; its own source, of a tool of the bench all in its folder; the archives of a row.
row_of    = $(firstword $(foreach row,$(ROWS),$(if $(filter $(row),$(1)),$(row))))
own       = $(if $(filter bench/%,$(1)),$(wildcard $(1:bench/%=bench/tools/%)/*.c),$(wildcard $(1).c))
archives  = $(filter-out %.c,$($(1)_OF)) base

define link # TARGET, below $(BUILD); ROW
$(BUILD)/$(1): $(call objects,$(call own,$(1)) $(filter %.c,$($(2)_OF))) $(patsubst %,$(BUILD)/lib%.a,$(call archives,$(2)))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS)$(if $(filter tests/fuzz/%,$(1)), -fsanitize=fuzzer) $(addprefix -Wl$(comma)--wrap=,$($(2)_WRAPS)) -o $$@ $$^ $(foreach lib,$(call archives,$(2)),$($(lib)_LIBS))
endef
comma := ,
LINKED := $(PROGRAMS:%=$(BUILD)/bin/%) $(UNIT_TESTS) $(FUZZ_TESTS) $(TEST_TOOLS) $(DOC_KEYS) $(BENCH_TOOLS) $(DISK_FAULTS) $(NO_FENCE) $(NETCONF_DIES)
$(foreach target,$(LINKED:$(BUILD)/%=%),$(eval $(call link,$(target),$(call row_of,$(target)))))

# The folders, too: an archive loses what was deleted. `q`, as two folders may have files of one name.
define archive # NAME
$(BUILD)/lib$(1).a: $(call objects,$(patsubst $(BUILD)/%,%,$($(1)_SOURCES))) $(patsubst %/,%,$(sort $(dir $(filter-out $(BUILD)/%,$($(1)_SOURCES)))))
	@mkdir -p $$(@D)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) qcsD $$@ $$(filter %.o,$$^)
endef
$(foreach name,$(ARCHIVES),$(eval $(call archive,$(name))))

# What dhcpcd calls: a script, beside the daemon that looks for it there.
$(BUILD)/bin/netconf-dhcp-hook: netconf/dhcp/dhcp-hook
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

# They start the real ones.
$(BUILD)/tests/unit/test_etcdwatch_faults: | $(DISK_FAULTS)
$(BUILD)/tests/unit/test_prism_checker: | $(BUILD)/bin/prism-probe

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# --- generated ------------------------------------------------------------------------------------
$(PROTO_H): $(PROTO_C) ;
$(PROTO_C): lib/etcd/proto/etcd.proto
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)protoc-c --c_out=$(@D) --proto_path=$(<D) $(<F)

# What support may show: what the pages list.
SHOWN_H   := $(BUILD)/gen/cli/support/shown.h
$(SHOWN_H): cli/support/shown.awk docs/control.md docs/events.md docs/metrics.md
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)awk -f $^ >$@
$(BUILD)/cli/support/show.o: | $(SHOWN_H)

# Generated code is not held to our warnings.
$(PROTO_O): $(PROTO_C)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(WARNINGS),$(CFLAGS)) -MMD -MP -c -o $@ $<

$(call objects,$(filter lib/etcd/%,$(SOURCES)) $(wildcard tests/unit/etcdtest/*.c tests/unit/test_etcd_*.c tests/unit/test_etcdwatch_*.c tests/fuzz/fuzz_etcd_*.c)): | $(PROTO_H)

# --- preloaded: into what runs, so not built as that is -------------------------------------------
# By tests/fault/run; in front of libfaketime; into the vipd of stories (nftables as before kernel 6.9).
NTH_CALL := $(BUILD)/tests/fault/nth_call.so
TRUE_TIMERS := $(BUILD)/tests/fault/true_timers.so
OLDNFT := $(BUILD)/tests/netns/oldnft.so

$(NTH_CALL): $(wildcard tests/fault/nth_*.[ch])
$(TRUE_TIMERS): tests/fault/true_timers.c
$(OLDNFT): tests/netns/lib/oldnft.c tests/unit/oldnft.h
$(NTH_CALL) $(TRUE_TIMERS) $(OLDNFT):
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu17 -g -O2 $(WARNINGS) -fPIC -shared -Wl,-z,now -o $@ $(filter %.c,$^)

.PHONY: unit-tests test-tools bench-tools faults
unit-tests: $(UNIT_TESTS)
test-tools: $(TEST_TOOLS) $(DOC_KEYS) $(OLDNFT)
bench-tools: $(BENCH_TOOLS)
faults: $(NO_FENCE) $(DISK_FAULTS) $(NETCONF_DIES) $(NTH_CALL) $(TRUE_TIMERS)

# Every source compiled and nothing linked: what a second compiler has to say.
.PHONY: objects
objects: $(call objects,$(SOURCES) $(shell find bench tests -name '*.c' ! -path 'tests/fuzz/*'))

# What clang's analyzer finds. Not what it says of freed memory: it does not know that what has left a
# list of queue(3) is not in it any more, and the sanitizers see that better.
ANALYZE := --analyze --analyzer-output text -Xclang -analyzer-werror -Xclang -analyzer-disable-checker=unix.Malloc
.PHONY: analyzed
analyzed: $(call objects,$(SOURCES))

# --- what people type ----------------------------------------------------------------------------
.PHONY: help deps docs check check-quick check-etcd check-sanitized check-vm check-units check-vm-units check-package check-stores check-kubernetes check-layers asan tsan lint demo bench format install deb clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'

deps: ## install every Debian package that build, tests, bench and demo need
	@tests/deps

docs: $(DOC_KEYS) ## write what is made of the source: docs/metrics.md, docs/events.md, tables of keys
	docs/generate

check: deps ## build with -Werror and run all tests; about 30 minutes on two processors
	tests/check

check-quick: ## what a change of a few lines needs: build, layers, pages, the unit tests that have changed; under 3 minutes
	tests/check quick

check-sanitized: deps ## all stories under ASan and UBSan, those with threads under TSan, a few under valgrind; by hand
	tests/sanitizers/run

check-etcd: deps ## snapshots, restores, drills, rebuilds and the record with etcd 3.4 to 3.7, which Go builds; and damaged snapshots of each
	@$(MAKE) --no-print-directory all test-tools
	tests/bolt/corpus
	tests/netns/run --jobs 2 --again --etcd 3.4 --etcd 3.5 --etcd 3.6 --etcd 3.7 \
	    'etcd_*' etcdwatch_drill etcdwatch_record

# What it runs of the unit tests it says itself.
check-vm: deps ## bonds, VLANs, VRFs: on this kernel, or on Debian's in QEMU where it lacks them
	@$(MAKE) --no-print-directory all bench-tools $(NETCONF_DIES) \
	    $$(tests/vm/run --list 'test_*' | sed 's|^|$(BUILD)/tests/unit/|')
	tests/vm/run

check-units: deps ## the systemd units and the package's life, in a systemd of its own
	@$(MAKE) --no-print-directory all
	packaging/deb
	tests/systemd/boot
	tests/systemd/self

check-vm-units: deps ## a whole node, its package, its reboots and the limits of its units in a machine with that systemd, in QEMU
	@$(MAKE) --no-print-directory all
	packaging/deb
	tests/systemd/boot --vm limits target package reboot

check-package: deps ## the Debian package: built twice, byte for byte the same, lintian, contents
	tests/package/run

check-stores: deps ## the client of S3 and etcdwatch's targets before versitygw and moto, which it builds; by hand
	@$(MAKE) --no-print-directory all test-tools
	tests/stores/run

check-kubernetes: deps ## faults under a real Kubernetes of three nodes, which it builds once; by hand
	@$(MAKE) --no-print-directory all test-tools
	tests/kubernetes/bootstrap
	tests/kubernetes/run

check-layers: $(PROTO_H) ## prove the layering from the include lines
	tests/layers $(CC) $(BUILD)

asan: ## build everything with AddressSanitizer and UBSan into build/asan, and its unit tests
	$(MAKE) BUILD=build/asan SAN=address,undefined all unit-tests

tsan: ## the same with ThreadSanitizer, into build/tsan
	$(MAKE) BUILD=build/tsan SAN=thread all unit-tests

lint: ## clang's static analyzer over all that is installed; a quarter of an hour, so by hand
	$(MAKE) -k CC=clang BUILD=build/lint DEBUG= OPTIMIZE='$(ANALYZE)' analyzed

demo: deps ## three nodes in network namespaces: see an owner elected, killed and replaced
	@$(MAKE) --no-print-directory all test-tools
	@demo/run

bench: deps ## measure failover, balancer, snapshots, network changes and idling beside their peers, and a real Kubernetes, and print the figures
	@$(MAKE) --no-print-directory all test-tools bench-tools
	bench/run failover
	bench/run prism
	bench/run snapshot
	bench/run netconf
	bench/run cost
	bench/run scale
	bench/run kubernetes

format: ## clang-format over all of it
	clang-format -i $(shell git ls-files '*.c' '*.h')

install: all ## install into $(DESTDIR)$(PREFIX)
	install -d $(addprefix $(DESTDIR)$(PREFIX),/sbin /bin /share/man/man1 /share/man/man5 /share/man/man8) \
	    $(addprefix $(DESTDIR),/etc/fairlead/conf.d $(UNITDIR) /usr/lib/sysusers.d /usr/lib/tmpfiles.d)
	install -m 755 $(addprefix $(BUILD)/bin/,vipd prism prism-probe etcdwatch etcdwatch-worker netconf netconf-probe netconf-dhcp-hook) $(DESTDIR)$(PREFIX)/sbin/
	install -m 755 $(BUILD)/bin/fairlead $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(wildcard docs/man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(wildcard docs/man/*.5) $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 $(wildcard docs/man/*.8) $(DESTDIR)$(PREFIX)/share/man/man8/
	install -m 644 $(wildcard systemd/*.service systemd/*.socket systemd/*.target) $(DESTDIR)$(UNITDIR)/
	sed -i 's|=/usr/sbin/|=$(PREFIX)/sbin/|' \
	    $(patsubst systemd/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard systemd/*.service))
	install -d $(DESTDIR)$(UNITDIR)/sleep.target.wants
	ln -sf ../fairlead-vipd-sleep.service $(DESTDIR)$(UNITDIR)/sleep.target.wants/
	install -m 644 $(wildcard systemd/sysusers.d/*.conf) $(DESTDIR)/usr/lib/sysusers.d/
	install -m 644 $(wildcard systemd/tmpfiles.d/*.conf) $(DESTDIR)/usr/lib/tmpfiles.d/
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions zsh/vendor-completions)
	$(BUILD)/bin/fairlead completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/fairlead
	$(BUILD)/bin/fairlead completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_fairlead
	$(if $(DESTDIR),,systemd-sysusers fairlead.conf && systemd-tmpfiles --create fairlead.conf)

deb: ## the Debian package, into build/deb
	packaging/deb

clean: ## remove what was built
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
