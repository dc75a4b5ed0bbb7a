/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An asynchronous etcd v3 client: all that daemons see of it. gRPC and protobuf stay behind it.
 *
 * Every call has a deadline, goes to the endpoint that answered last, and fails over by itself.
 * Calls that may safely land twice (all reads; writes with `hedge` set) are sent to the next
 * endpoint as well when no answer came within hedge_ms: a black-holed or stopped member costs no
 * more than that. The first answer that settles the matter wins and the others are cancelled.
 *
 * Callbacks run on the loop, exactly once, never before the call that asked returned, never after
 * etcd_call_cancel(). What they are given is borrowed until they return. What is passed in is
 * copied. Loop thread only. Times are mono.h microseconds.
 *
 * Sources: etcd's rpc.proto and kv.proto (API v3, unchanged in the fields used here from 3.4
 * to 3.8).
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define ETCD_ENDPOINTS_MAX 16
#define ETCD_ERROR_TEXT_MAX 256

struct etcd;
struct etcd_call;
struct etcd_watch;

struct etcd_options {
	/* "https://10.0.0.1:2379", "https://[fd00::1]:2379", "https://etcd-0:2379", or http://, or
	 * unix:///path. All of one scheme. Without a port: 2379. */
	const char *const *endpoints;
	size_t n_endpoints;
	/* PEM files, re-read when they change on disk. Needed for https (cert and key only where the
	 * server wants a client certificate). */
	const char *ca_file;
	const char *cert_file;
	const char *key_file;
	/* NULL: no authentication by password. */
	const char *user;
	const char *password;
	/* 0 means the default: 1000 and 300. */
	unsigned call_timeout_ms;
	unsigned hedge_ms;
	/* A longer message is an error, and so is one that takes four times as much when it is
	 * unpacked. 0: 16 MiB. */
	size_t answer_max_bytes;
	/* Ask the members for each other's client URLs and use those too (no more than once a minute).
	 */
	bool discover_members;
};

struct etcd_bytes {
	const void *data;
	size_t len;
};
/* For string constants and C strings. */
#define ETCD_STR(s) ((struct etcd_bytes){.data = (s), .len = strlen(s)})

struct etcd_kv {
	struct etcd_bytes key;
	struct etcd_bytes value;
	int64_t create_revision;
	int64_t mod_revision;
	int64_t version; /* 1 after creation */
	int64_t lease;   /* 0: none */
};

struct etcd_outcome {
	/*
	 * 0, or: -ETIMEDOUT no answer in time; -EHOSTUNREACH no endpoint could be reached, or no
	 * leader; -ENOENT lease or member not found; -EEXIST lease exists already; -EACCES not
	 * permitted or not authenticated; -ENOSPC database space exceeded; -EUCLEAN nothing is changed
	 * while the alarm CORRUPT stands; -EBUSY too many requests;
	 * -ESTALE revision compacted; -EAGAIN revision not there yet; -EPROTO anything else, see text.
	 */
	int r;
	/* With r < 0, on a write: the server may have carried it out all the same. Resolve it by a
	 * read. */
	bool ambiguous;
	const char *text;     /* the server's or gRPC's own words, "" if r is 0 */
	const char *endpoint; /* who answered, "" if nobody */
	/* Of the very attempt that was answered: clock before it was handed to gRPC, clock on the
	 * answer. */
	int64_t sent_us;
	int64_t received_us;
	uint64_t cluster_id;
	uint64_t member_id;
	int64_t revision; /* of the whole store when it was answered */
	uint64_t raft_term;
};

/* What etcd_new() would say of the endpoints and certificate files, without making anything: for
 * checking a configuration before it is put to use. */
int etcd_check(const struct etcd_options *options, char ret_error[static ETCD_ERROR_TEXT_MAX]);

/* Checks that certificates can be read and parsed, starts gRPC's thread and begins to connect; does
 * not wait for a connection. 0, or -errno with a sentence (file and reason) in ret_error. With 0,
 * ret_error is "", or a warning: a certificate whose time is over, or has not come. */
int etcd_new(struct ev_loop *ev, const struct etcd_options *options,
             char ret_error[static ETCD_ERROR_TEXT_MAX], struct etcd **ret_etcd);

/* Cancels everything (no callback runs), joins the thread. The handles of its calls and watches are
 * gone with it. Not inside one of its callbacks. */
void etcd_free(struct etcd *etcd);
DEFINE_AUTO(struct etcd, etcd_free);

void etcd_call_cancel(struct etcd_call *call); /* NULL is fine */

/* --- reading --- */

struct etcd_range {
	struct etcd_bytes key;
	bool prefix;       /* all keys that begin with key */
	int64_t revision;  /* 0: now */
	int64_t limit;     /* 0: none */
	bool serializable; /* answered by the member itself, possibly stale; else linearizable */
	bool keys_only;
	bool count_only;
	int64_t useful_us; /* given up after this, where the client waits longer; 0: as the client */
};

struct etcd_range_result {
	const struct etcd_kv *kvs;
	size_t n_kvs;
	int64_t count;
	bool more;
};

/* result is NULL unless outcome->r is 0; the same holds for the other calls. */
typedef void (*etcd_range_fn)(const struct etcd_outcome *outcome,
                              const struct etcd_range_result *result, void *userdata);
int etcd_range(struct etcd *etcd, const struct etcd_range *range, etcd_range_fn fn, void *userdata,
               struct etcd_call **ret_call);

/* --- writing --- */

enum etcd_compare_target {
	ETCD_COMPARE_VERSION,
	ETCD_COMPARE_CREATE,
	ETCD_COMPARE_MOD,
	ETCD_COMPARE_VALUE,
	ETCD_COMPARE_LEASE,
};

enum etcd_compare_result {
	ETCD_EQUAL,
	ETCD_GREATER,
	ETCD_LESS,
	ETCD_NOT_EQUAL,
};

struct etcd_compare {
	struct etcd_bytes key;
	enum etcd_compare_target target;
	enum etcd_compare_result result;
	int64_t number;          /* for all targets but VALUE */
	struct etcd_bytes value; /* for VALUE */
};

enum etcd_op_kind {
	ETCD_OP_PUT,
	ETCD_OP_DELETE,
	ETCD_OP_RANGE,
};

struct etcd_op {
	enum etcd_op_kind kind;
	struct etcd_bytes key;
	bool prefix;             /* DELETE, RANGE */
	int64_t revision;        /* RANGE: as in struct etcd_range */
	struct etcd_bytes value; /* PUT */
	int64_t lease;           /* PUT: 0 for none */
};

struct etcd_txn {
	const struct etcd_compare *compares;
	size_t n_compares;
	const struct etcd_op *success;
	size_t n_success;
	const struct etcd_op *failure;
	size_t n_failure;
	bool hedge;        /* it does no harm if this lands twice, or late */
	int64_t useful_us; /* as in struct etcd_range */
};

struct etcd_op_result {
	enum etcd_op_kind kind;
	struct etcd_range_result range; /* RANGE */
	int64_t deleted;                /* DELETE */
};

struct etcd_txn_result {
	bool succeeded;
	const struct etcd_op_result *results; /* of the branch that was taken, in its order */
	size_t n_results;
};

typedef void (*etcd_txn_fn)(const struct etcd_outcome *outcome,
                            const struct etcd_txn_result *result, void *userdata);
int etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_fn fn, void *userdata,
             struct etcd_call **ret_call);

/* For calls whose answer says nothing but that it was done. */
typedef void (*etcd_done_fn)(const struct etcd_outcome *outcome, void *userdata);
int etcd_put(struct etcd *etcd, struct etcd_bytes key, struct etcd_bytes value, int64_t lease,
             etcd_done_fn fn, void *userdata, struct etcd_call **ret_call);

/* --- leases --- */

struct etcd_lease_result {
	int64_t id;
	int64_t ttl_s;         /* granted or left; <= 0: the lease is gone */
	int64_t granted_ttl_s; /* etcd_lease_ttl() only */
};

typedef void (*etcd_lease_fn)(const struct etcd_outcome *outcome,
                              const struct etcd_lease_result *result, void *userdata);

/* The server may grant more than was asked for: its minimum is ceil(1.5 x election timeout). id may
 * be 0 (the server chooses) or chosen by the caller, which makes an ambiguous grant resolvable. */
int etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_fn fn, void *userdata,
                     struct etcd_call **ret_call);
/* Renews once. A positive answer is no proof that the lease lives (a deposed leader gives it too).
 */
int etcd_lease_keepalive(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                         struct etcd_call **ret_call);
int etcd_lease_ttl(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                   struct etcd_call **ret_call);
int etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_done_fn fn, void *userdata,
                      struct etcd_call **ret_call);

/* --- watching --- */

enum etcd_event_type {
	ETCD_EVENT_PUT,
	ETCD_EVENT_DELETE, /* kv.key and kv.mod_revision only */
};

struct etcd_event {
	enum etcd_event_type type;
	struct etcd_kv kv;
};

struct etcd_watch_callbacks {
	/* All events of one or more whole revisions, in order, each revision exactly once. */
	void (*events)(const struct etcd_event *events, size_t n_events, int64_t revision,
	               void *userdata);
	/* What was to come next has been compacted away: the watch has stopped. Read everything again
	 * and make a new watch. */
	void (*compacted)(int64_t compact_revision, void *userdata);
	/* The same because that revision has more than a watch can hold (64 MiB). May be NULL:
	 * compacted() is called then. */
	void (*too_large)(int64_t revision, void *userdata);
	/* The stream broke, or is live (again). It reconnects and resumes by itself. May be NULL. */
	void (*live)(bool live, void *userdata);
	/* The member says that it is at this revision. Servers before 3.4.25 and 3.5.8 may say so
	 * before the events up to it have come. Asked for every second, or if it is NULL every two, and
	 * nobody is told. */
	void (*progress)(int64_t revision, void *userdata);
};

/*
 * Watches a key, or a prefix, from start_revision on (the revision of a read + 1). The stream is
 * proven alive by progress requests and is moved to another endpoint when it is silent. callbacks
 * and userdata are borrowed until etcd_watch_free(), which may be called inside them.
 */
int etcd_watch_new(struct etcd *etcd, struct etcd_bytes key, bool prefix, int64_t start_revision,
                   const struct etcd_watch_callbacks *callbacks, void *userdata,
                   struct etcd_watch **ret_watch);
void etcd_watch_free(struct etcd_watch *watch);
DEFINE_AUTO(struct etcd_watch, etcd_watch_free);

/* The member behind this URL is watched while it can be: to be said before the next turn of the
 * loop. One that is not, or no longer, among the endpoints is no error. Copied. */
void etcd_watch_prefer(struct etcd_watch *watch, const char *endpoint);
/* Another member than the one behind this URL is watched if there is any: the same holds. */
void etcd_watch_avoid(struct etcd_watch *watch, const char *endpoint);
/* A member may leave a request for progress unanswered for so long before another one is watched.
 * Without it that is the time from one request to the next; and while a large revision comes in
 * fragments it is never less than 10 s: etcd 3.4 needs more than a second for some of them, and
 * answers nothing meanwhile. */
void etcd_watch_be_patient(struct etcd_watch *watch, int64_t patience_us);
/* The member that is, or was last, watched; 0: none has answered yet. */
uint64_t etcd_watch_member(const struct etcd_watch *watch);

/* --- the cluster --- */

struct etcd_member {
	uint64_t id;
	const char *name; /* "": not started yet */
	const char *const *peer_urls;
	size_t n_peer_urls;
	const char *const *client_urls;
	size_t n_client_urls;
	bool learner;
};

typedef void (*etcd_members_fn)(const struct etcd_outcome *outcome,
                                const struct etcd_member *members, size_t n_members,
                                void *userdata);
int etcd_member_list(struct etcd *etcd, etcd_members_fn fn, void *userdata,
                     struct etcd_call **ret_call);

enum etcd_alarm_type {
	ETCD_ALARM_NOSPACE = 1,
	ETCD_ALARM_CORRUPT = 2,
	/* Other numbers: kinds that a later server may know. */
};

struct etcd_alarm {
	uint64_t member_id;
	enum etcd_alarm_type type;
};

/* All that are raised. The server decides even this by its log: it takes a leader. Without one, a
 * member's status still tells (errors). 3.4 answers without a header: the outcome is 0 in all that
 * comes from there. */
typedef void (*etcd_alarms_fn)(const struct etcd_outcome *outcome, const struct etcd_alarm *alarms,
                               size_t n_alarms, void *userdata);
int etcd_alarm_list(struct etcd *etcd, etcd_alarms_fn fn, void *userdata,
                    struct etcd_call **ret_call);

/* --- one member ---------------------------------------------------------------------------------
 *
 * These ask the member behind one endpoint and no other, and do not change which one is asked
 * first. It is named by its URL, in any spelling: a member's client URL will do. They return
 * -ENOENT unless it is one of etcd_endpoints(). A timeout_ms of 0 means the client's.
 *
 * All but what is linearizable work without a quorum; but where etcd has authentication by password
 * switched on, HashKV, a snapshot and a range need a token (the first two the root role too), and
 * getting one takes a quorum. A client certificate does not.
 */

/* etcd_range() of one member. A linearizable answer proves that it has a leader with a quorum; a
 * learner gives none. Asked again until timeout_ms is over; sent_us and received_us are of the
 * attempt that was answered. */
int etcd_endpoint_range(struct etcd *etcd, const char *endpoint, const struct etcd_range *range,
                        unsigned timeout_ms, etcd_range_fn fn, void *userdata,
                        struct etcd_call **ret_call);

/* The members as that one knows them; or, linearizable, as the cluster has agreed on at this
 * moment. 3.4 knows no difference, and answers by what it knows itself: there, who wants the
 * latter asks once a linearizable range was answered. */
int etcd_endpoint_member_list(struct etcd *etcd, const char *endpoint, bool linearizable,
                              unsigned timeout_ms, etcd_members_fn fn, void *userdata,
                              struct etcd_call **ret_call);

struct etcd_status {
	const char *version; /* of the server */
	int64_t db_size_bytes;
	int64_t db_size_in_use_bytes;
	int64_t db_size_quota_bytes; /* 0: not told (before 3.6) */
	const char *storage_version; /* "": not told (before 3.6) */
	uint64_t leader;             /* member id; 0: none known */
	uint64_t raft_index;         /* committed, as far as this member knows */
	uint64_t raft_applied_index;
	uint64_t raft_term;
	bool learner;
	/* As the server writes them: "etcdserver: no leader", "memberID:123 alarm:NOSPACE ". */
	const char *const *errors;
	size_t n_errors;
};

typedef void (*etcd_status_fn)(const struct etcd_outcome *outcome, const struct etcd_status *status,
                               void *userdata);
int etcd_endpoint_status(struct etcd *etcd, const char *endpoint, etcd_status_fn fn, void *userdata,
                         struct etcd_call **ret_call);

struct etcd_hashkv {
	uint32_t hash;
	int64_t compact_revision; /* -1: never compacted. Hashes compare only where this is equal. */
	int64_t hash_revision;    /* 0: not told (before 3.6) */
};

/*
 * The hash of all keys and their history up to revision (0: now, which is outcome->revision). The
 * member reads its whole database for it, and takes no writes meanwhile; hence a deadline of its
 * own. It is asked once: what fails is not repeated. -ESTALE: compacted; -EAGAIN: the member has
 * not come so far yet.
 */
typedef void (*etcd_hashkv_fn)(const struct etcd_outcome *outcome, const struct etcd_hashkv *hashkv,
                               void *userdata);
int etcd_endpoint_hashkv(struct etcd *etcd, const char *endpoint, int64_t revision,
                         unsigned timeout_ms, etcd_hashkv_fn fn, void *userdata,
                         struct etcd_call **ret_call);

/* --- which cluster --- */

/*
 * Endpoints may lead to different clusters, as where one member was restored by itself. Once this
 * was called, only answers of that cluster count. A call that names no endpoint goes on to the next
 * one after an answer of another cluster, which may have carried out what was asked, and asks no
 * endpoint that last answered for another cluster; a watch moves. A call that names its endpoint is
 * answered by it: the caller compares outcome->cluster_id. With 0 the cluster is not chosen yet,
 * and calls that name no endpoint wait.
 */
void etcd_expect_cluster(struct etcd *etcd, uint64_t cluster_id);

/* Which cluster and member answered last behind an endpoint, any call of this client; all 0: none
 * yet. */
struct etcd_heard {
	const char *endpoint;
	uint64_t cluster_id;
	uint64_t member_id;
	int64_t heard_us;
};

/* Of all etcd_endpoints(), in their order. Returns how many; borrowed like these. */
size_t etcd_endpoints_heard(const struct etcd *etcd,
                            struct etcd_heard ret_heard[static ETCD_ENDPOINTS_MAX]);

/* Further endpoints, as if they had been discovered: used until the members are asked again. */
void etcd_add_endpoints(struct etcd *etcd, const char *const *endpoints, size_t n_endpoints);

/* --- snapshots --- */

struct etcd_snapshot;

struct etcd_blob {
	const void *data;
	size_t len;           /* 32 KiB as a rule; never 0 */
	uint64_t offset;      /* in the database */
	uint64_t total_bytes; /* of the database, in every blob the same */
	uint64_t remaining_bytes;
	bool is_digest;      /* the last: not a part of it, but the SHA-256 of all of it (32 bytes) */
	const char *version; /* of the server; "": not told (before 3.6) */
};

struct etcd_snapshot_callbacks {
	/*
	 * The next bytes, in order and without a gap. Nothing comes after it until
	 * etcd_snapshot_next(), which may be called in here, first of all: the member then sends while
	 * the data, which stays until this returns, is worked on.
	 */
	void (*blob)(const struct etcd_blob *blob, void *userdata);
	/*
	 * The end: with r 0 everything has come, digest included, and the server has said that it is
	 * all. That the digest is right is for the caller to find. Or at any moment, perhaps while
	 * nothing is asked for, as in struct etcd_outcome: -ETIMEDOUT for stall_ms without bytes,
	 * -EPROTO for a stream that contradicts itself or ends early, -EHOSTUNREACH for one that was
	 * cut, or whose member does not answer a ping either. The outcome has no ids, revision and
	 * term: the stream does not tell them. The handle is gone.
	 */
	void (*done)(const struct etcd_outcome *outcome, void *userdata);
};

/*
 * Streams the database of the member behind one endpoint (NULL: one that is connected), as it is at
 * this moment, over a connection of its own. Works without a quorum, within the limits described
 * above; a learner gives one too, of whatever age.
 *
 * The first blob comes by itself, each further one, and the end, when it is asked for. A caller who
 * does not ask stops the member's reading, and memory stays bounded; but the member's database
 * grows while its snapshot is open. There is no deadline but stall_ms (0: 30 s), how long a blob
 * may be waited for; empty ones do not count. callbacks and userdata are borrowed until the end.
 */
int etcd_snapshot_start(struct etcd *etcd, const char *endpoint, unsigned stall_ms,
                        const struct etcd_snapshot_callbacks *callbacks, void *userdata,
                        struct etcd_snapshot **ret_snapshot);

/* Asks for the next, or for the end after the digest. Exactly once after each blob. */
void etcd_snapshot_next(struct etcd_snapshot *snapshot);

/* No callback runs any more. Also inside blob(); NULL is fine. */
void etcd_snapshot_cancel(struct etcd_snapshot *snapshot);

/* All endpoints in use now, the configured ones first, then discovered ones. Borrowed until the
 * next turn of the loop. */
size_t etcd_endpoints(const struct etcd *etcd, const char *const **ret_endpoints);

/* There is a connection to it now, if it is one of etcd_endpoints(). Asks nothing. */
bool etcd_endpoint_is_connected(const struct etcd *etcd, const char *endpoint);
