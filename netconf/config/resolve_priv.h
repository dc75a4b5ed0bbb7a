/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the resolve*.c files share: the state of one resolution. Nobody else includes this. */

#include "netconf/config/resolve.h"

/* An alias that found its device. */
struct alias {
	char *name;
	const struct device *device;
};

/* A link of the model, by its name; the model itself is sorted only at the end. */
struct known {
	char name[IFNAMSIZ];
	size_t index;
	bool is_described; /* not only as a port */
	const struct config_link *described_by;
};

struct resolver {
	const struct config *config;
	const struct device *devices;
	size_t n_devices;
	struct alias *aliases;
	size_t n_aliases;
	struct known *known; /* by hash of the name: open addressing, a power of two */
	size_t n_known, cap_known;
	struct resolution *resolution;
};

/* What a reference stands for, sorted where a selector chose. */
struct names {
	char (*items)[IFNAMSIZ];
	size_t n;
};
void names_fini(struct names *names);

/* "file:line: <fmt>": a problem, which is about that link. */
void resolver_dispute(struct resolver *r, const char *link, const struct origin *origin,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);

/* resolve_names.c */
void resolver_find_alias(struct resolver *r, const struct config_alias *config);
const struct alias *resolver_alias_of(const struct resolver *r, const char *name);
/* NULL: nobody can say, and that has been listed as waiting. Borrowed from `name` or a device. */
const char *resolver_find_name(struct resolver *r, const char *name, const struct origin *origin);
/* None: the same. */
void resolver_find_names(struct resolver *r, const struct config_ref *ref,
                         const struct origin *origin, struct names *ret_names);
