/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What this node knows of one VIP's keys, folded from quorum reads, watch events and the answers to
 * its own transactions, whichever comes first. Pure: whoever has news calls in with the time it is.
 *
 * All of it belongs to one timeline of etcd. A linearizable answer never names a revision less than
 * one that was heard of before the request was sent; if it does, or a key says of itself what
 * cannot follow from what it was, then etcd was restored from a backup, and another timeline has
 * begun in which revisions are used again: everything is forgotten. Only such proof counts. Answers
 * that overtake each other are told apart by the struct facts_mark that a request carries.
 *
 * Two things are kept apart. What the keys say (owner, beat, nodes), each with the revision as of
 * which it is known, so that late news never overwrites newer. And how well it is known: `life`,
 * the local time of the last sign of life of the owner, and the quorum streak, because silence
 * counts for something only while etcd itself answers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mono.h"
#include "vipd/record.h"

#define FACTS_NODES_MAX 64

/* An owner record that cannot be read was written by no vipd of ours; wait this long for whoever
 * did. */
#define FACTS_UNREADABLE_WINDOW_US (60 * US_PER_S)

/* Longer values were written by no vipd, and are compared by their revision alone. */
#define FACTS_TEXT_MAX 1024

/* A value, byte for byte. */
struct facts_text {
	char data[FACTS_TEXT_MAX];
	size_t len; /* 0: no such key, or it is too long */
};

struct facts {
	bool known;          /* there has been a quorum read */
	uint64_t cluster_id; /* 0: none has answered */
	unsigned timeline;   /* one more each time that etcd was found to be rewound or replaced */
	int64_t revision;    /* of the whole store: the highest that was heard of */
	/* Whoever owned the address in the timeline before may answer until then. */
	struct mono_moment former_until;

	bool has_owner;
	struct record_owner owner;
	/* As they stand in etcd. Revisions may be used again by a timeline that we do not know of;
	 * these never are. */
	struct facts_text owner_text;
	struct facts_text beat_text;
	int64_t owner_rev; /* ModRevision, 0 if there is no such key: the fencing token r */
	int64_t beat_rev;  /* likewise, k */
	int64_t owner_as_of;
	int64_t beat_as_of;
	struct mono_moment life;

	int64_t
	    quorum_since_us;    /* sending of the first read of the unbroken streak; MONO_NEVER: none */
	int64_t quorum_last_us; /* sending of the last read that was answered */

	struct record_node nodes[FACTS_NODES_MAX]; /* sorted by name */
	size_t n_nodes;
	int64_t nodes_as_of;
	int64_t ask_rev; /* ModRevision of `ask`, 0 if there is no such key */
	size_t turn;     /* the number of this VIP among all; set by the caller (policy.h) */
	/* A node whose version answers no `ask` has been in the race. Its key may end before it does:
	 * under the alarm NOSPACE etcd grants no lease. */
	bool older_seen;
};

/* One key below the VIP's prefix; name is what follows the prefix: "owner", "beat", "node/n1". */
struct facts_key {
	const char *name;
	size_t name_len;
	const void *value; /* NULL: deleted */
	size_t value_len;
	int64_t mod_revision;
};

/* What was known when a request was sent. */
struct facts_mark {
	unsigned timeline;
	int64_t revision;
};

/* What an answer says of the timeline. */
enum facts_answer {
	FACTS_CURRENT, /* nothing new: it can be believed */
	FACTS_STALE,   /* asked in a timeline that is over: says nothing */
	FACTS_REWOUND, /* etcd was rewound or replaced */
};

void facts_init(struct facts *facts);

struct facts_mark facts_mark(const struct facts *facts);

/* The header of a linearizable answer, to a request that was sent at `mark`. With FACTS_REWOUND
 * nothing has been done yet: facts_rewind() does. */
enum facts_answer facts_judge(struct facts *facts, struct facts_mark mark, uint64_t cluster_id,
                              int64_t revision);

/* Forgets everything but how long the owner of this timeline may answer. */
void facts_rewind(struct facts *facts, struct mono_moment now);

/* A linearizable read of the whole prefix, as of `revision`. With FACTS_REWOUND it is the first one
 * of the new timeline; a stale one is ignored. */
enum facts_answer facts_on_read(struct facts *facts, struct facts_mark mark, uint64_t cluster_id,
                                int64_t revision, const struct facts_key *keys, size_t n_keys,
                                int64_t sent_us, struct mono_moment now);

/* A read sent at sent_us had no answer. */
void facts_on_read_failed(struct facts *facts, int64_t sent_us);

/* One watch event. */
void facts_on_event(struct facts *facts, const struct facts_key *key, struct mono_moment now);

/* Our own transaction wrote the owner record at this revision. */
void facts_on_owner_written(struct facts *facts, const struct record_owner *owner, int64_t revision,
                            struct mono_moment now);

/* NULL if it is not in the race. */
const struct record_node *facts_node(const struct facts *facts, const char *name);

/* The node in the race whose link has this MAC; NULL: none is known. */
const char *facts_node_of_mac(const struct facts *facts, const struct mac *mac);
/* It is certainly no node of ours that may hold the address: the MACs of all in the race are known,
 * and so is the one that wrote the record in force. */
bool facts_is_foreign_mac(const struct facts *facts, const struct mac *mac);
