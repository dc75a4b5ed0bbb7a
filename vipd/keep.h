/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one vipd leaves to the next of the same boot, in a small file in the runtime directory: its
 * instance id, the etcd cluster that it works with, its lease, whether it is on hold, and for each
 * VIP that is on the link the record's revision and the fence deadline. With it a restart keeps the
 * address: the kernel's fence runs on, and the next process goes on confirming before it ends.
 *
 * Deadlines are CLOCK_BOOTTIME and mean nothing after a reboot: a file of another boot is not read.
 * A VIP is in the file only while its address is on the link; it is taken out before the address
 * is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "net/rtnl.h"
#include "vipd/config.h"
#include "vipd/record.h"

struct keep_vip {
	struct addr vip;
	int ifindex;
	int64_t epoch;
	int64_t rev;
	int64_t deadline_us;
	int64_t window_us;
};

#define KEEP_ENDPOINT_MAX 320

struct keep {
	char instance[RECORD_INSTANCE_LEN + 1];
	/* The etcd cluster that it worked with, and all endpoints by which it knew that; 0: none. */
	uint64_t cluster_id;
	char endpoints[ETCD_ENDPOINTS_MAX][KEEP_ENDPOINT_MAX + 1];
	size_t n_endpoints;
	int64_t lease; /* 0: none */
	bool on_hold;
	struct keep_vip vips[CONFIG_VIPS_MAX];
	size_t n_vips;
};

/*
 * Takes the lock of the runtime directory, which lives as long as the process: -EWOULDBLOCK when
 * another vipd has it. The descriptor stays open; it is closed on exec. Without `create` -ENOENT
 * when no vipd has run here since the boot: root must not make a file that vipd cannot open.
 */
int keep_lock(const char *runtime_dir, bool create);

/* -ENOENT when there is none, -ESTALE when it is of another boot, -EINVAL when it is unreadable. */
int keep_load(const char *runtime_dir, struct keep *ret_keep);

int keep_save(const char *runtime_dir, const struct keep *keep);

/* NULL if the VIP is not in it. */
const struct keep_vip *keep_find(const struct keep *keep, const struct addr *vip);

/*
 * What an earlier vipd of this boot has left in the kernel, and nobody goes on with: addresses of
 * VIPs that are configured otherwise by now, and links that were made for them.
 */

/* IFLA_GROUP of dummies that vipd makes, by which it knows them again; the same number as that of
 * its addresses (FENCE_ADDR_PROTO). */
#define LEFTOVERS_LINK_GROUP 0xf1

/* Removes them, at once, and logs each. To be called while the gates of before still stand: some of
 * the addresses are silent by these alone. Borrows all until it returns. */
void leftovers_sweep(struct rtnl *rtnl, const struct config *config, const struct keep *keep);
