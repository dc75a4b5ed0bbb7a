/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The arithmetic of the takeover protocol, in one place and pure. docs/architecture.md proves why
 * it is safe; the names there and here are the same:
 *
 *   window (T_f)   how long a confirmation entitles its owner to hold the address, counted on the
 *                  owner's clock from *before the sending* of the confirmation
 *   late (e)       how late the owner's fence may act
 *   slew (s)       how much slower than its hardware the owner's clock may be made to run
 *   hardware (h)   how much faster or slower than it should a clock's hardware may run
 *   margin (m)     slack for everything that is measured in microseconds but scheduled by people
 *
 * All times are mono.h microseconds.
 */

#include <stdint.h>

#include "base/mono.h"

enum fence_kind {
	FENCE_NFTABLES, /* nftables gate to the millisecond, address lifetime behind it */
	FENCE_LIFETIME, /* the address lifetime carries the promise alone */
};

/*
 * s: CLOCK_BOOTTIME and the kernel's timers, which fence the owner, go slower than its hardware by
 * no more than the kernel lets a rate be set (kernel/time/ntp.c): a tick of 9000 us instead of
 * 10000, a frequency of -500 ppm, and adjtime(3), which takes off 500 us a second. Within it are
 * chronyd (83333 ppm, at most 100000 by its maxslewrate, chrony.conf(5)), phc2sys (100000),
 * systemd-timesyncd (an offset of up to 0.4 s, a quarter of what is left in each second where
 * PollIntervalMinSec= is 16, an eighth by default), and ntpd. Beyond it are an offset of more
 * than that at a time constant of 0, and a rate and an offset that are set at the same time, which
 * none of them does; but a chronyd or phc2sys that is killed in mid-slew leaves its tick set, to
 * which the offset of another program may add. The kernel parameter ntp_tick_adj= adds to the tick
 * as well.
 */
#define TIMING_SLEW_PPM INT64_C(101000)

/*
 * h: the owner's clock and CLOCK_MONOTONIC_RAW of the one who waits are as good as their hardware
 * and what the kernel believes of its frequency. Quartz is good to 100 ppm, KVM hands a time stamp
 * counter on as it is if it is within 250 (tsc_tolerance_ppm), and the kernel measures its own to
 * 500 (quick_pit_calibrate() in arch/x86/kernel/tsc.c). Twice the worst of it.
 */
#define TIMING_HARDWARE_PPM INT64_C(1000)

#define TIMING_MARGIN_US (10 * US_PER_MS)

/*
 * e. The gate was never seen late; a process that is held up in the middle of opening it leaves the
 * address live for NFTGATE_TICKET_MS beyond the deadline at most, for however long it is stopped.
 */
#define TIMING_LATE_US (60 * US_PER_MS)

/* The lifetime acts up to one second late, and is counted in whole seconds (facts measured on 6.1
 * and 6.18); one quarter of a second of slack on top. */
#define TIMING_LIFETIME_SLACK_US (1250 * US_PER_MS)

/* etcd's default election timeout, and the one that a minimum lease TTL of `min_ttl_s` seconds
 * tells of: the server grants no less than ceil(1.5 x election timeout), and starts with none
 * above 50 s, so that whoever answers with more says nothing of one. */
#define TIMING_ELECTION_DEFAULT_US US_PER_S
#define TIMING_ELECTION_MAX_US (50 * US_PER_S)
int64_t timing_election_timeout_us(int64_t min_ttl_s);

/*
 * The window for etcd's default election timeout, and longer as that is longer: enough for etcd to
 * elect by its first vote when its leader dies. The last confirmation is up to a period old
 * (312 ms), members stand for election up to 1.9 election timeouts after the last heartbeat, and
 * then a confirmation follows within DECIDE_URGENT_PACE_US: 2.34 s, and 160 ms for disks and round
 * trips. bench/RESULTS.md has what others would gain, and cost.
 */
#define TIMING_WINDOW_DEFAULT_US (TIMING_ELECTION_DEFAULT_US * 5 / 2)
#define TIMING_WINDOW_LIFETIME_US (5 * US_PER_S)

/* The window where none is configured: 2.5 x election timeout, and at least 5 s where the lifetime
 * is the only fence. */
int64_t timing_window_auto_us(int64_t election_timeout_us, enum fence_kind kind);

/* Below this an etcd election alone may cost the owner its address. */
int64_t timing_window_advised_us(int64_t election_timeout_us);

/* p: the owner confirms this often. A longer one makes the window that outlasts an election longer
 * by as much, and with it a failover; a shorter one writes into etcd more often. */
int64_t timing_confirm_period_us(int64_t window_us);

/* A living owner that can confirm does so within this, also if it is of a version before this one,
 * which confirmed half as often. */
int64_t timing_overdue_us(int64_t window_us);

/* The least time left of a confirmation for which it is worth adding the address: else it would be
 * gone again before the next one, or (lifetime) cannot be fenced in whole seconds at all. */
int64_t timing_worth_holding_us(enum fence_kind kind, int64_t window_us);

/* When a standby may try the swap: nothing seen since seen_us. */
int64_t timing_silent_at_us(int64_t seen_us, int64_t window_us);

/*
 * When the address may be added after the swap: the old fence has certainly acted. It is when both
 * clocks of this node say so: the raw one, which nobody slews, carries the proof; the other makes
 * up for a hardware whose frequency is not what the kernel believes, but which NTP has set right.
 */
struct mono_moment timing_take_at(struct mono_moment seen, int64_t window_us, int64_t late_us);

/* When both have come. */
struct mono_moment timing_later(struct mono_moment a, struct mono_moment b);

/* When to look again whether both clocks say that `at` has come, by the one that timers go by; not
 * later than now: they do. */
int64_t timing_over_us(struct mono_moment at, struct mono_moment now);

/* The promise: never two that answer for longer than this. */
int64_t timing_bound_us(int64_t window_us, int64_t late_us);

/*
 * The lifetime, in whole seconds, of an address that must be silent at deadline_us. With the gate
 * it is rounded up past the deadline and only cleans up; alone it is rounded down so that the
 * kernel is never late. 0: there is not enough time left to hold the address at all.
 */
uint32_t timing_lifetime_s(enum fence_kind kind, int64_t deadline_us, int64_t now_us);
