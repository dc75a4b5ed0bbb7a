/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A gate in the kernel that lets a set of guarded addresses speak only while each is "live", and
 * shuts by itself, to the millisecond, when an address's time is up: whatever became of the
 * process.
 *
 * nftables tables of our own (one in family arp, one in family inet, both named by the caller):
 * - a set of guarded addresses and a set of live ones, a pair a family of addresses; an element of
 *   the live set carries a timeout;
 * - on the way in (hook input): an ARP request for, a neighbour solicitation for, or any packet to
 * a guarded address that is not live is dropped; the announcements of another owner pass;
 * - on the way out (hook output): an ARP frame that names it as sender, a neighbour advertisement
 *   for it, or any packet from it is dropped. The kernel asks for a client's MAC in the name of the
 *   address that answers, and that alone would draw traffic to a node that no longer owns it. A TCP
 *   reset passes: it is how the clients of a lost connection hear of it (sockdestroy.h).
 * The input hook sees only what is delivered locally, so a node that does not hold the address
 * still forwards its own pods' packets to the one that does. The rules about
 * packets to the address look at no interface: a second link in the same LAN cannot answer for the
 * first. Those about translated flows concern the links of nftgate_add_link() and all others that
 * lead off this machine: hardware, bonds, VLANs, macvlans, ipvlans and VRFs.
 *
 * Frames sent by AF_PACKET do not pass these hooks: the sender looks at its own deadline.
 *
 * Kernels before 6.12 cannot renew the timeout of an element: it is deleted and added in one
 * transaction, and packets never see the moment between. Timeouts count in ticks of the kernel's
 * clock and are up to two of them early (8 ms at 250 Hz), never late.
 *
 * From kernel 6.9 the tables belong to the gate that made or adopted them: for as long as it is
 * open another socket can neither change nor flush them, and another gate of this name in the same
 * network namespace is refused with -EPERM. When its process ends they stay, as tables that anyone
 * may change. On older kernels another program's `flush ruleset` removes the gate:
 * nftgate_open_until() then answers -ENOENT and nftgate_restore() makes it again.
 *
 * All calls return when the kernel has done it (netlink_call()). 0 or -errno; -EOPNOTSUPP from
 * nftgate_new() where the kernel has no nftables. Loop thread only.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"

struct nftgate;

/* Guarded addresses of one gate. */
#define NFTGATE_ADDRS_MAX 64
/* Links of one gate; of more the oldest is forgotten, which is one that was deleted. */
#define NFTGATE_LINKS_MAX 256
/* The shortest time that an address can be live: old kernels take less than a tick (10 ms at 100
 * Hz) for "no timeout". */
#define NFTGATE_TIMEOUT_MIN_MS 10
/* How much later than its deadline nftgate_open_until() may leave an address live. */
#define NFTGATE_TICKET_MS 50

/* Makes both tables, empty, in one transaction; tables of this name that are left from an earlier
 * process are adopted with their guarded and live elements untouched. When those are not as they
 * should be (a chain, a rule or a flag is missing or changed), they are made anew at one stroke,
 * with what was guarded still guarded and nothing live. */
int nftgate_new(struct ev_loop *ev, const char *table_name, struct nftgate **ret_gate);

/* Leaves the tables in the kernel: a fence must outlive the process. */
void nftgate_free(struct nftgate *gate);
DEFINE_AUTO(struct nftgate, nftgate_free);

/* Removes the tables (when the last VIP is configured away, or the package is purged). */
int nftgate_destroy(struct nftgate *gate);

/* From now on addr is silent unless live. Guarding twice is fine. -ENOSPC beyond NFTGATE_ADDRS_MAX.
 */
int nftgate_guard(struct nftgate *gate, const struct addr *addr);
int nftgate_unguard(struct nftgate *gate, const struct addr *addr);

/* Translated flows for guarded addresses come in by this link, of any kind. Adding twice is
 * fine. There is no removal: the kernel numbers links in order, so another one does not soon get
 * the number of one that was deleted. */
int nftgate_add_link(struct nftgate *gate, int ifindex);

/* What is guarded, also by an earlier process. Returns how many. */
size_t nftgate_guarded(const struct nftgate *gate, struct addr ret_addrs[static NFTGATE_ADDRS_MAX]);

/*
 * Live until the deadline (mono.h), and certainly not longer than NFTGATE_TICKET_MS beyond it, for
 * however long this process is stopped at any point of this call. Replaces what was left of an
 * earlier one, longer or shorter; counted in milliseconds, rounded down. -ETIME when fewer than NFTGATE_TIMEOUT_MIN_MS are left; -EAGAIN when this process was
 * held up several times on end; -ENOENT when the tables are gone. What was live before stays as it
 * was then.
 */
int nftgate_open_until(struct nftgate *gate, const struct addr *addr, int64_t deadline_us);

/* Silent from now on. Not live already is fine. */
int nftgate_shut(struct nftgate *gate, const struct addr *addr);

/* Is the address guarded and live in the kernel now? *ret_left_us is the time left (0 if not live).
 */
int nftgate_query(struct nftgate *gate, const struct addr *addr, bool *ret_guarded,
                  int64_t *ret_left_us);

/* Makes the tables anew after somebody removed them, guarding what was guarded, with nothing live.
 */
int nftgate_restore(struct nftgate *gate);

/* Called from the loop when somebody else deleted or changed a part of our tables, or a guarded
 * element. May call nftgate_restore(); must not free the gate. */
typedef void (*nftgate_lost_fn)(void *userdata);
void nftgate_on_lost(struct nftgate *gate, nftgate_lost_fn fn, void *userdata);

const char *nftgate_error_text(const struct nftgate *gate);
