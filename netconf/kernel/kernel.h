/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel's side of a network: reads all of it into a model, and carries out single steps.
 * Blocking calls over rtnetlink; a monitor on the loop for what
 * others change. Sources: rtnetlink(7), linux/if_link.h, linux/rtnetlink.h, linux/fib_rules.h.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "netconf/model/model.h"
#include "netconf/plan/plan.h"

struct kernel;
struct netlink;

/* ev may be NULL if nothing is monitored. 0 or -errno. */
int kernel_new(struct ev_loop *ev, struct kernel **ret_kernel);
void kernel_free(struct kernel *kernel);
DEFINE_AUTO(struct kernel, kernel_free);

/*
 * All links, addresses, routes and rules of this network namespace, normalised, each with its
 * owner as far as the kernel's marks tell. A dump that a change disturbed is made again, at most a
 * few times (-EAGAIN). 0 or -errno.
 */
int kernel_observe(struct kernel *kernel, struct model **ret_model);

/* One step, but for OP_WAIT_CARRIER, which is the caller's to wait for (-EINVAL). 0 or -errno;
 * kernel_error_text() then has the kernel's own sentence, or ours. Putting back what is there is no
 * failure. 0 does not prove that it is so: observe again. */
int kernel_carry_out(struct kernel *kernel, const struct op *op);
const char *kernel_error_text(const struct kernel *kernel);

/* Of these options of bonds (BOND_BIT()s), those that this kernel is known not to have. */
uint64_t kernel_bond_lacks(struct kernel *kernel, uint64_t options);

/* 1 or 0, or -errno. */
int kernel_carrier(struct kernel *kernel, const char *link);
/* The same, and where LACP has a say (an 802.3ad bond, a port of one), it has agreed with the other
 * end; of a bond, on one port at least. */
int kernel_carries(struct kernel *kernel, const char *link);

/* What one notification says: why an object may be gone. */
enum kernel_news_kind {
	KERNEL_NEWS_LINK,
	KERNEL_NEWS_ADDRESS,
	KERNEL_NEWS_ROUTE,
	KERNEL_NEWS_LOST, /* messages were lost: anything may have happened */
};

#define KERNEL_BY_MAX 48
struct kernel_news {
	enum kernel_news_kind kind;
	bool is_gone;
	char link[IFNAMSIZ]; /* LINK, as are these two */
	int ifindex;
	bool carries;           /* it is up, and has its carrier */
	struct prefix prefix;   /* ADDRESS, with its host bits; ROUTE: the destination */
	char by[KERNEL_BY_MAX]; /* "pid 812 (networkd)": another process; "": it is not known */
};

/* From now on `changed` is called, on the loop, a short while after anything was changed by
 * anybody, many changes at once; also after messages were lost. `told`, which may be NULL, is
 * called at once for each notification. */
typedef void (*kernel_changed_fn)(void *userdata);
typedef void (*kernel_told_fn)(const struct kernel_news *news, void *userdata);
int kernel_monitor(struct kernel *kernel, kernel_changed_fn changed, kernel_told_fn told,
                   void *userdata);
/* Takes the notifications that wait: what kernel_observe() has seen, they explain. */
void kernel_read_news(struct kernel *kernel);

/* --- for kernel.c and its tests --- */

/*
 * Of these options of bonds (BOND_BIT()s), those that the running kernel does not know. As long as
 * bonds are a module that is not loaded, and for others than root, the kernel does not tell: 0.
 * *ret_is_known says which it is.
 *
 * The kernel passes over an option that it does not know without an error. But what it knows it
 * checks the length of, before it looks whether there is anything to be done. So it is asked to
 * make a link that is there already, with an option that is too short: ERANGE or EINVAL is for the
 * option, EEXIST for the link.
 */
uint64_t kernel_bond_options_lacking(struct netlink *nl, uint64_t options, bool *ret_is_known);

/* 1: it has that attribute of links of this kind; 0: it has not; -errno: it does not say. For
 * kernel_bond_options_lacking(), and for tests on kinds that every kernel has. */
int kernel_knows(struct netlink *nl, const char *kind, uint16_t attribute, bool is_nest);
