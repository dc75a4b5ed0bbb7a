# SPDX-License-Identifier: Apache-2.0
# One non-recursive Makefile. `make help` lists the targets.

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

CPPFLAGS += -D_GNU_SOURCE -DFAIRLEAD_VERSION='"$(VERSION)"' -Ilib -I. -I$(BUILD)/gen
CFLAGS   += -std=gnu17 $(DEBUG) $(OPTIMIZE) $(WARNINGS) $(HARDEN)
LDFLAGS  += -pie -Wl,-z,relro -Wl,-z,now -Wl,--as-needed $(if $(SAN),-fsanitize=$(SAN))

# --- sources -------------------------------------------------------------------------------------
# A library is a folder; a program is a folder with a main.c (prism-probe: prism/probe,
# etcdwatch-worker: etcdwatch/worker, netconf-probe: netconf/probe/web).
LIBS     := base net etcd web bolt
# The rooms of netconf, from the values up to the change.
NETCONF_ROOMS := model config plan kernel owned host ethtool dhcp probe change
CLI_ROOMS := common nodes status init vip prism etcd snapshot restore net config completion node top support
ETCDWATCH_ROOMS := schedule catalog config work cluster store take target job drill health notify record \
                   recordstore
# The rooms of the worker, from what all use up to the drill.
WORKER_ROOMS := common pack store source record rebuild restore drill
PROGRAMS := vipd prism prism-probe etcdwatch etcdwatch-worker netconf netconf-probe fairlead

objects   = $(patsubst %.c,$(BUILD)/%.o,$(1))
sources   = $(filter-out %/main.c,$(wildcard $(1)/*.c))

PROTO_C   := $(BUILD)/gen/etcd/proto/etcd.pb-c.c
PROTO_H   := $(PROTO_C:.c=.h)
PROTO_O   := $(PROTO_C:.c=.o)

LIB_ARCHIVES := $(LIBS:%=$(BUILD)/lib%.a)

# Order matters to the linker: users before what they use.
BASE_LINK := $(BUILD)/libbase.a
NET_LINK  := $(BUILD)/libnet.a $(BASE_LINK)
WEB_LINK  := $(BUILD)/libweb.a $(BASE_LINK)
ETCD_LINK := $(BUILD)/libetcd.a $(BASE_LINK)
BOLT_LINK := $(BUILD)/libbolt.a $(BASE_LINK)
WORKER_LINK := $(BUILD)/libworker.a $(BUILD)/libbolt.a $(WEB_LINK)

BASE_LIBS := -lyaml -ljansson -lev -lm
NET_LIBS  := -lnftnl -lmnl
WEB_LIBS  := -lcurl -lexpat -lssl -lcrypto
ETCD_LIBS := -lgrpc -lgpr -lprotobuf-c -lnghttp2 -lssl -lcrypto -lpthread
BOLT_LIBS := -lcrypto -lpthread
CLI_LIBS  := -lncursesw -ltinfo
WORKER_LIBS := -lzstd

# The default goal.
.PHONY: all
all: $(PROGRAMS:%=$(BUILD)/bin/%) $(BUILD)/bin/netconf-dhcp-hook

$(BUILD)/libbase.a: $(call objects,$(call sources,lib/base))
$(BUILD)/libnet.a:  $(call objects,$(call sources,lib/net))
$(BUILD)/libweb.a:  $(call objects,$(call sources,lib/web))
$(BUILD)/libbolt.a: $(call objects,$(call sources,lib/bolt))
$(BUILD)/libetcd.a: $(call objects,$(call sources,lib/etcd)) $(PROTO_O)
$(BUILD)/libvipd.a: $(call objects,$(call sources,vipd))
$(BUILD)/libprism.a: $(call objects,$(call sources,prism))
$(BUILD)/libprobe.a: $(call objects,$(call sources,prism/probe))
# The worker reads the catalogue too, and the record.
$(BUILD)/libworker.a: $(call objects,$(call sources,etcdwatch/worker) $(foreach dir,$(WORKER_ROOMS),$(call sources,etcdwatch/worker/$(dir))) \
                      $(addprefix etcdwatch/catalog/,catalog.c catalog_json.c trust.c) \
                      etcdwatch/record/recordbase.c $(wildcard etcdwatch/record/segment*.c))
$(BUILD)/libetcdwatch.a: $(call objects,$(call sources,etcdwatch) $(foreach dir,$(ETCDWATCH_ROOMS),$(call sources,etcdwatch/$(dir))))
$(BUILD)/libnetconf.a: $(call objects,$(call sources,netconf) $(foreach dir,$(NETCONF_ROOMS),$(call sources,netconf/$(dir))))
$(BUILD)/libcli.a:  $(call objects,$(call sources,cli) $(foreach dir,$(CLI_ROOMS),$(call sources,cli/$(dir))))
$(BUILD)/libwirelog.a: $(call objects,$(call sources,tests/tools/wirelog))
$(BUILD)/libtraffic.a: $(call objects,$(foreach dir,client server traffic,$(call sources,tests/tools/$(dir))))
$(BUILD)/libetcdtest.a: $(call objects,$(call sources,tests/unit/etcdtest))

$(BUILD)/bin/vipd: $(BUILD)/vipd/main.o $(BUILD)/libvipd.a $(BUILD)/libnet.a $(BUILD)/libweb.a \
                   $(BUILD)/libetcd.a $(BASE_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(ETCD_LIBS) $(BASE_LIBS)

$(BUILD)/bin/prism: $(BUILD)/prism/main.o $(BUILD)/libprism.a $(BUILD)/libweb.a $(BASE_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BASE_LIBS)

$(BUILD)/bin/prism-probe: $(BUILD)/prism/probe/main.o $(BUILD)/libprobe.a $(WEB_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

# Of the library about bbolt only the checksum (crc32c.c), for the record.
$(BUILD)/bin/etcdwatch: $(BUILD)/etcdwatch/main.o $(BUILD)/libetcdwatch.a $(BUILD)/libbolt.a \
                        $(BUILD)/libweb.a $(BUILD)/libetcd.a $(BASE_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(ETCD_LIBS) $(BASE_LIBS)

$(BUILD)/bin/etcdwatch-worker: $(BUILD)/etcdwatch/worker/main.o $(WORKER_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/bin/netconf: $(BUILD)/netconf/main.o $(BUILD)/libnetconf.a $(BUILD)/libnet.a $(WEB_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# Of the library about etcd only how it is reached (etcdconf.c), which needs nothing of gRPC.
$(BUILD)/bin/netconf-probe: $(BUILD)/netconf/probe/web/main.o $(BUILD)/netconf/probe/web/quorumask.o \
                            $(BUILD)/libnetconf.a $(BUILD)/libnet.a $(BUILD)/libweb.a $(ETCD_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# What dhcpcd calls: a script, beside the daemon that looks for it there.
$(BUILD)/bin/netconf-dhcp-hook: netconf/dhcp/dhcp-hook
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

$(BUILD)/bin/fairlead: $(BUILD)/cli/main.o $(BUILD)/libcli.a $(BOLT_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CLI_LIBS) $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# --- generated: the protobuf messages ------------------------------------------------------------
$(PROTO_H): $(PROTO_C) ;
$(PROTO_C): lib/etcd/proto/etcd.proto
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)protoc-c --c_out=$(@D) --proto_path=$(<D) $(<F)

# Generated code is not held to our warnings.
$(PROTO_O): $(PROTO_C)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out $(WARNINGS),$(CFLAGS)) -MMD -MP -c -o $@ $<

$(call objects,$(call sources,lib/etcd) $(wildcard tests/unit/etcdtest/*.c tests/unit/test_etcd_*.c tests/unit/test_etcdwatch_*.c tests/fuzz/fuzz_etcd_*.c)): | $(PROTO_H)

# --- unit tests: each tests/unit/test_X.c is a program that exits 0 ------------------------------
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libwirelog.a $(BUILD)/libtraffic.a \
                       $(BUILD)/libetcdtest.a $(BUILD)/libvipd.a $(BUILD)/libcli.a $(BUILD)/libnet.a \
                       $(BUILD)/libweb.a $(BUILD)/libetcd.a $(BOLT_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CLI_LIBS) $(NET_LIBS) $(WEB_LIBS) $(ETCD_LIBS) $(BASE_LIBS)

# Programs have modules of the same names (config, report), so a test links one program.
$(BUILD)/tests/unit/test_prism_%: $(BUILD)/tests/unit/test_prism_%.o $(BUILD)/libprism.a \
                                  $(BUILD)/libprobe.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

$(BUILD)/tests/unit/test_etcdwatch_%: $(BUILD)/tests/unit/test_etcdwatch_%.o $(BUILD)/libetcdwatch.a \
                                       $(BUILD)/libetcdtest.a $(BUILD)/libbolt.a $(BUILD)/libetcd.a \
                                       $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(ETCD_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# What it sees of a cluster is made up.
$(BUILD)/tests/unit/test_etcdwatch_judge_%: $(BUILD)/tests/unit/test_etcdwatch_judge_%.o \
                                            $(BUILD)/tests/unit/judgeworld.o $(BUILD)/libetcdwatch.a \
                                            $(BUILD)/libbolt.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BASE_LIBS)

$(BUILD)/tests/unit/test_etcd_%: $(BUILD)/tests/unit/test_etcd_%.o $(BUILD)/libetcdtest.a $(ETCD_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(ETCD_LIBS) $(BASE_LIBS)

$(BUILD)/tests/unit/test_bolt_%: $(BUILD)/tests/unit/test_bolt_%.o $(BOLT_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/tests/unit/test_worker_%: $(BUILD)/tests/unit/test_worker_%.o $(WORKER_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) $(BOLT_LIBS) $(BASE_LIBS)

# There may be no memory for a stream.
$(BUILD)/tests/unit/test_mem: $(BUILD)/tests/unit/test_mem.o $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=open_memstream -o $@ $^ $(BASE_LIBS)

# Its system calls can fail one by one.
FAULT_CALLS := open openat read __read_chk write fsync close fchmod rename unlink pipe2 fork waitpid

$(BUILD)/tests/unit/test_worker_faults: $(BUILD)/tests/unit/test_worker_faults.o \
                                        $(BUILD)/tests/fault/worker_calls.o $(WORKER_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(FAULT_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) \
	    $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/tests/unit/test_netconf_%: $(BUILD)/tests/unit/test_netconf_%.o $(BUILD)/libnetconf.a \
                                    $(BUILD)/libnet.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# Many nodes, one store and no clock but the test's.
$(BUILD)/tests/unit/test_election: $(BUILD)/tests/unit/test_election.o \
                                   $(call objects,$(wildcard tests/unit/electionworld*.c)) \
                                   $(BUILD)/libvipd.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

# Plans' steps are taken by a kernel that is none.
PLAN_TEST_OBJS := $(addprefix $(BUILD)/tests/unit/,fakekernel.o fakekernel_link.o plancase.o \
                    planrandom.o)
$(BUILD)/tests/unit/test_netconf_plan%: $(BUILD)/tests/unit/test_netconf_plan%.o \
                                        $(PLAN_TEST_OBJS) $(BUILD)/libnetconf.a \
                                        $(BUILD)/libnet.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# What the planner compares is counted.
COMPARING_CALLS := strcmp addr_equal prefix_contains
$(BUILD)/tests/unit/test_netconf_plan_work: $(BUILD)/tests/unit/test_netconf_plan_work.o \
                                            $(PLAN_TEST_OBJS) $(BUILD)/libnetconf.a \
                                            $(BUILD)/libnet.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(COMPARING_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) \
	    $(BASE_LIBS)

# The renames can fail, and be what a file system can do.
$(BUILD)/tests/unit/test_worker_exchange: $(BUILD)/tests/unit/test_worker_exchange.o $(WORKER_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=renameat2 -Wl,--wrap=syncfs -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) \
	    $(BOLT_LIBS) $(BASE_LIBS)

# Its syncs can fail.
$(BUILD)/tests/unit/test_etcdwatch_recordwriter: $(BUILD)/tests/unit/test_etcdwatch_recordwriter.o \
                                                 $(BUILD)/libetcdwatch.a $(BUILD)/libbolt.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=fdatasync -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

# Its clock and its disk are the test's.
$(BUILD)/tests/unit/test_etcdwatch_recordpace: $(BUILD)/tests/unit/test_etcdwatch_recordpace.o \
                                               $(BUILD)/libetcdwatch.a $(BUILD)/libbolt.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=mono_now_us -Wl,--wrap=ev_timer_start -Wl,--wrap=disk_do \
	    -Wl,--wrap=fdatasync -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

# Its clock is the test's, and so is etcd.
$(BUILD)/tests/unit/test_etcdwatch_recordleases: $(BUILD)/tests/unit/test_etcdwatch_recordleases.o \
                                                 $(BUILD)/libetcdwatch.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=mono_now_us -Wl,--wrap=ev_timer_start \
	    -Wl,--wrap=etcd_lease_ttl -Wl,--wrap=etcd_call_cancel -o $@ $^ $(BASE_LIBS)

# What the measuring tools share.
$(BUILD)/tests/unit/test_bench_%: $(BUILD)/tests/unit/test_bench_%.o $(BUILD)/libbenchtools.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BASE_LIBS)

$(BUILD)/tests/unit/test_bench_scale: $(BUILD)/tests/unit/test_bench_scale.o $(BUILD)/bench/tools/scale/model.o \
                                      $(BUILD)/libprism.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

# etcdwatch and its worker, whose calls on files can fail one by one.
DISK_CALLS := open opendir readdir read __read_chk pread write fsync close fchmod mkdir rename renameat2 \
              unlink unlinkat access stat statvfs
DISK_FAULTS := $(BUILD)/tests/fault/etcdwatch $(BUILD)/tests/fault/etcdwatch-worker

$(BUILD)/tests/fault/etcdwatch: $(BUILD)/etcdwatch/main.o $(BUILD)/tests/fault/disk_calls.o \
                                $(BUILD)/libetcdwatch.a $(BUILD)/libbolt.a $(BUILD)/libweb.a $(BUILD)/libetcd.a \
                                $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(DISK_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(WEB_LIBS) $(ETCD_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fault/etcdwatch-worker: $(BUILD)/etcdwatch/worker/main.o $(BUILD)/tests/fault/disk_calls.o \
                                       $(BUILD)/libworker.a $(BUILD)/libbolt.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(DISK_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) \
	    $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/tests/unit/test_etcdwatch_faults: $(BUILD)/tests/unit/test_etcdwatch_faults.o $(BUILD)/libcli.a \
                                           $(BUILD)/libetcdwatch.a $(BUILD)/libetcdtest.a $(BUILD)/libbolt.a $(WEB_LINK) \
                                           | $(DISK_FAULTS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(CLI_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# It starts the real one.
$(BUILD)/tests/unit/test_prism_checker: | $(BUILD)/bin/prism-probe

.PRECIOUS: $(BUILD)/tests/unit/%.o $(BUILD)/%.o

.PHONY: unit-tests
unit-tests: $(UNIT_TESTS)

# Every source compiled and nothing linked: what a second compiler has to say.
.PHONY: objects
objects: $(call objects,$(shell find bench cli etcdwatch lib netconf prism tests vipd -name '*.c' ! -path 'tests/fuzz/*'))

# What clang's analyzer finds. Not what it says of freed memory: it does not know that what has left a
# list of queue(3) is not in it any more, and the sanitizers see that better.
ANALYZE := --analyze --analyzer-output text -Xclang -analyzer-werror -Xclang -analyzer-disable-checker=unix.Malloc
.PHONY: analyzed
analyzed: $(call objects,$(shell find cli etcdwatch lib netconf prism vipd -name '*.c'))

# --- fuzz targets: tests/fuzz/run builds them with SAN=fuzzer-no-link,... and clang ---------------
$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libvipd.a $(BUILD)/libnet.a $(BUILD)/libetcd.a \
                       $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_cli_%: $(BUILD)/tests/fuzz/fuzz_cli_%.o $(BUILD)/libcli.a $(BOLT_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(CLI_LIBS) $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_worker_%: $(BUILD)/tests/fuzz/fuzz_worker_%.o $(BUILD)/libworker.a \
                                   $(BUILD)/libbolt.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_etcdwatch_%: $(BUILD)/tests/fuzz/fuzz_etcdwatch_%.o $(BUILD)/libetcdwatch.a \
                                      $(BUILD)/libbolt.a $(BUILD)/libetcd.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_netconf_%: $(BUILD)/tests/fuzz/fuzz_netconf_%.o $(BUILD)/libnetconf.a \
                                    $(BUILD)/libnet.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# Answers are the test's.
$(BUILD)/tests/fuzz/fuzz_etcd_answer: $(BUILD)/tests/fuzz/fuzz_etcd_answer.o $(BUILD)/libetcd.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -Wl,--wrap=call_start -Wl,--wrap=pool_find -o $@ $^ \
	    $(ETCD_LIBS) $(BASE_LIBS)

# A whole connection.
$(BUILD)/tests/fuzz/fuzz_etcd_pull: $(BUILD)/tests/fuzz/fuzz_etcd_pull.o $(BUILD)/libetcd.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(ETCD_LIBS) $(BASE_LIBS)

# The object of protobuf is for comparison.
$(BUILD)/tests/fuzz/fuzz_etcd_%: $(BUILD)/tests/fuzz/fuzz_etcd_%.o $(BUILD)/libetcd.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ -lprotobuf-c $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_prism_%: $(BUILD)/tests/fuzz/fuzz_prism_%.o $(BUILD)/libprism.a \
                                  $(BUILD)/libprobe.a $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_bolt: $(BUILD)/tests/fuzz/fuzz_bolt.o $(BOLT_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/tests/fuzz/fuzz_bolt_%: $(BUILD)/tests/fuzz/fuzz_bolt_%.o $(BOLT_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(BOLT_LIBS) $(BASE_LIBS)

# --- programs that only the tests need -----------------------------------------------------------
# tests/tools/X.c -> build/tests/tools/X
TEST_TOOLS := $(patsubst tests/tools/%.c,$(BUILD)/tests/tools/%,$(wildcard tests/tools/*.c))

$(BUILD)/tests/tools/%: $(BUILD)/tests/tools/%.o $(BUILD)/libwirelog.a $(BUILD)/libtraffic.a \
                        $(BUILD)/libnet.a $(BASE_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) -lssl -lcrypto $(BASE_LIBS)

$(BUILD)/tests/tools/recordcat: $(BUILD)/tests/tools/recordcat.o \
                                $(call objects,$(wildcard etcdwatch/record/segment_*.c)) $(BUILD)/libweb.a $(BOLT_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BOLT_LIBS) $(BASE_LIBS)

# bench/tools/NAME/*.c -> build/bench/NAME; `common` is what they share.
BENCH_TOOLS := $(patsubst %,$(BUILD)/bench/%,load origin cost fill talk heard past scale handshake)

$(BUILD)/libbenchtools.a: $(call objects,$(wildcard bench/tools/common/*.c))

define bench_tool
$(BUILD)/bench/$(1): $(call objects,$(wildcard bench/tools/$(1)/*.c)) \
                     $(BUILD)/libbenchtools.a $(BASE_LINK)
	$$(call say,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ -lssl -lcrypto $$(BASE_LIBS)
endef
$(foreach tool,load origin cost talk handshake,$(eval $(call bench_tool,$(tool))))

$(BUILD)/bench/fill: $(BUILD)/bench/tools/fill/main.o $(ETCD_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(ETCD_LIBS) $(BASE_LIBS)

$(BUILD)/bench/past: $(BUILD)/bench/tools/past/main.o $(WORKER_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WORKER_LIBS) $(WEB_LIBS) $(BOLT_LIBS) $(BASE_LIBS)

$(BUILD)/bench/heard: $(BUILD)/bench/tools/heard/main.o $(NET_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(NET_LIBS) $(BASE_LIBS)

# prism's judgement and vipd's arithmetic, as they are.
$(BUILD)/bench/scale: $(call objects,$(wildcard bench/tools/scale/*.c)) $(BUILD)/libprism.a \
                      $(BUILD)/vipd/timing.o $(WEB_LINK)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BASE_LIBS)

# vipd without its fences, for the story that proves that stories can fail.
NO_FENCE  := $(BUILD)/tests/fault/vipd-no-fence
NO_FENCE_CALLS := rtnl_addr_add rtnl_addr_replace nftgate_guard

$(NO_FENCE): $(BUILD)/vipd/main.o $(BUILD)/tests/fault/no_fence.o $(BUILD)/libvipd.a $(BUILD)/libnet.a \
             $(BUILD)/libweb.a $(BUILD)/libetcd.a $(BASE_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(NO_FENCE_CALLS:%=-Wl,--wrap=%) -o $@ $^ $(NET_LIBS) $(WEB_LIBS) \
	    $(ETCD_LIBS) $(BASE_LIBS)

# netconf that dies in the middle of a change, or loses its patience with undoing one.
NETCONF_DIES := $(BUILD)/tests/fault/netconf-dies

$(NETCONF_DIES): $(BUILD)/netconf/main.o $(BUILD)/tests/fault/netconf_dies.o $(BUILD)/libnetconf.a \
                 $(BUILD)/libnet.a $(WEB_LINK)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--wrap=kernel_carry_out -Wl,--wrap=undo_start \
	    -Wl,--wrap=probes_judge -o $@ $^ $(NET_LIBS) $(WEB_LIBS) $(BASE_LIBS)

# Preloaded by tests/fault/run: what it lets fail it must not itself be built with.
NTH_CALL := $(BUILD)/tests/fault/nth_call.so

$(NTH_CALL): $(wildcard tests/fault/nth_*.[ch])
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu17 -g -O2 $(WARNINGS) -fPIC -shared -Wl,-z,now -o $@ $(filter %.c,$^)

# Preloaded in front of libfaketime.
TRUE_TIMERS := $(BUILD)/tests/fault/true_timers.so

$(TRUE_TIMERS): tests/fault/true_timers.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu17 -g -O2 $(WARNINGS) -fPIC -shared -Wl,-z,now -o $@ $<

# Preloaded into the vipd of stories: nftables as before kernel 6.9.
OLDNFT := $(BUILD)/tests/netns/oldnft.so

$(OLDNFT): tests/netns/lib/oldnft.c tests/unit/oldnft.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu17 -g -O2 $(WARNINGS) -fPIC -shared -Wl,-z,now -o $@ $<

.PHONY: test-tools bench-tools faults
test-tools: $(TEST_TOOLS) $(OLDNFT)
bench-tools: $(BENCH_TOOLS)
faults: $(NO_FENCE) $(DISK_FAULTS) $(NETCONF_DIES) $(NTH_CALL) $(TRUE_TIMERS)

# --- what people type ----------------------------------------------------------------------------
.PHONY: help deps docs check check-etcd check-sanitized check-vm check-units check-vm-units check-package check-stores check-kubernetes check-layers asan tsan lint demo bench format install deb clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'

deps: ## install every Debian package that build, tests, bench and demo need
	@tests/deps

docs: ## write the pages that are made of the source: docs/metrics.md, docs/events.md
	docs/generate

check: deps ## build with -Werror and run all tests
	tests/check

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
