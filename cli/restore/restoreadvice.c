/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule is a few lines that look at one thing. `against` is for what would go wrong, or could
 * not be taken back; all the rest is the operator's to weigh, who may have lost everything else.
 */
#include "cli/restore/restoreadvice.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "cli/common/fields.h"

/* What the tool makes beside the database: a WAL takes 64 MB from the first byte on. */
#define SPARE_BYTES (INT64_C(96) << 20)
#define MIB (1 << 20)

struct subject {
	const struct restoreplan_wish *wish;
	const json_t *host;
	const json_t *dir;
	const json_t *tool;
	const json_t *source;
	struct restoreplan *plan;
};

/* --- the data directory --- */

static void look_at_dir(const struct subject *s)
{
	struct texts *against = &s->plan->against, *mind = &s->plan->mind;
	const char *path = field_string(s->dir, "path"), *inner = field_string(s->dir, "inner");
	const char *set_aside = field_string(s->dir, "set_aside");

	if (field_is_true(s->dir, "in_use") && !s->wish->while_running)
		texts_add(against, "etcd runs on %s: stop it, on this node and on all others", path);
	if (inner[0] != '\0')
		texts_add(against, "there is no data of etcd in %s, but in %s: --data-dir %s", path, inner,
		          inner);
	if (field_is_true(s->dir, "has_db") && !field_is_true(s->dir, "has_wal") &&
	    s->wish->wal_dir == NULL)
		texts_add(against,
		          "there is no WAL in %s, so etcd has it elsewhere: say where, by --wal-dir", path);
	if (!field_is_true(s->dir, "has_unit") && set_aside[0] != '\0')
		texts_add(mind,
		          "%s is not there, but what an earlier restore moved aside is; the way back: mv "
		          "%s %s",
		          field_string(s->dir, "unit"), set_aside, field_string(s->dir, "unit"));
	if (!field_is_true(s->dir, "has_unit") && s->plan->self != NULL)
		texts_add(mind,
		          "there was no data of etcd in %s, so it will belong to user %lld: give it to "
		          "the one that etcd runs as (chown -R)",
		          path, (long long) field_integer(s->dir, "uid"));
}

static void look_at_disk(const struct subject *s)
{
	json_int_t need = field_integer(s->source, "db_bytes") + SPARE_BYTES;
	json_int_t free_bytes = field_integer(s->dir, "free_bytes");

	if (free_bytes < need)
		texts_add(&s->plan->against,
		          "%s needs %lld MiB beside what is there, which stays, and %lld MiB are free",
		          field_string(s->dir, "path"), (long long) (need / MIB + 1),
		          (long long) (free_bytes / MIB));
}

static void look_at_manifests(const struct subject *s)
{
	const json_t *manifests = json_object_get(s->host, "manifests");

	for (size_t i = 0; !s->wish->while_running && i < json_array_size(manifests); i++) {
		const char *path = json_string_value(json_array_get(manifests, i));

		texts_add(&s->plan->against,
		          "kubelet starts etcd on %s, by %s: move that file away, and kube-apiserver's, on "
		          "all nodes",
		          field_string(s->dir, "path"), path);
	}
}

/* Two nodes restored as one member are two clusters. Where the URL does not resolve, the host's
 * name decides. */
static void look_at_place(const struct subject *s, const json_t *peer, bool is_here)
{
	const char *url = field_string(peer, "url"), *name = s->plan->self->name;
	const char *host = field_string(json_object_get(s->host, "self"), "host");
	const json_t *local = json_object_get(peer, "local");

	if (local == NULL && !is_here && strcmp(name, host) != 0)
		texts_add(&s->plan->against, "%s does not resolve, and this machine is '%s', not '%s'", url,
		          host, name);
	else if (local == NULL)
		texts_add(&s->plan->mind, "%s does not resolve", url);
	else if (json_is_false(local) && !is_here)
		texts_add(&s->plan->against, "%s is no address of this machine, so '%s' does not run here",
		          url, name);
	else if (json_is_false(local))
		texts_add(&s->plan->mind, "%s is no address of this machine", url);
}

static void look_at_peers(const struct subject *s)
{
	const json_t *peers = json_object_get(s->host, "peers");
	bool is_here = false;

	for (size_t i = 0; i < json_array_size(peers); i++)
		is_here |= field_is_true(json_array_get(peers, i), "local");
	for (size_t i = 0; i < json_array_size(peers); i++) {
		const json_t *peer = json_array_get(peers, i);

		if (s->wish->while_running)
			;
		else if (field_is_true(peer, "listening") && field_is_true(s->dir, "in_use"))
			texts_add(&s->plan->against, "something listens on %s, most likely that etcd",
			          field_string(peer, "url"));
		else if (field_is_true(peer, "listening"))
			texts_add(&s->plan->against,
			          "something listens on %s: etcd still runs here, elsewhere than in %s?",
			          field_string(peer, "url"), field_string(s->dir, "path"));
		look_at_place(s, peer, is_here);
	}
}

/* --- versions --- */

/* The tool has to be of the version that wrote the snapshot, or the next one: etcd goes up by one
 * minor version at a time, and never down. */
static void look_at_version(const struct subject *s)
{
	const char *version = field_string(s->source, "storage_version");
	const char *tool = field_string(s->tool, "version"), *path = field_string(s->tool, "path");
	unsigned major, minor, tool_major, tool_minor;

	if (version[0] == '\0')
		version = field_string(s->source, "cluster_version");
	if (sscanf(version, "%4u.%4u", &major, &minor) != 2 ||
	    sscanf(tool, "%4u.%4u", &tool_major, &tool_minor) != 2)
		return;
	if (tool_major != major || tool_minor < minor)
		texts_add(&s->plan->against,
		          "the snapshot is of etcd %u.%u, and %s is of %s, which cannot read it: take the "
		          "tool of %u.%u, by --tool",
		          major, minor, path, tool, major, minor);
	else if (tool_minor > minor + 1)
		texts_add(&s->plan->against,
		          "the snapshot is of etcd %u.%u, and %s is of %s: etcd goes up by one minor "
		          "version at a time, so take the tool of %u.%u, by --tool",
		          major, minor, path, tool, major, minor);
	else if (tool_minor == minor + 1)
		texts_add(&s->plan->mind,
		          "the snapshot is of etcd %u.%u, and %s is of %s: what it makes is for etcd "
		          "%u.%u, on all nodes",
		          major, minor, path, tool, tool_major, tool_minor);
}

static void look_at_tool(const struct subject *s)
{
	const char *problem = field_string(s->tool, "problem");

	if (problem[0] != '\0') {
		texts_add(&s->plan->against, "%s (--tool)", problem);
		return;
	}
	look_at_version(s);
	if (s->plan->bump_revision > 0 && !field_is_true(s->tool, "can_bump"))
		texts_add(&s->plan->against,
		          "%s of etcd %s cannot raise the revision, which came with 3.4.27 and 3.5.10: "
		          "take another one on all nodes, by --tool, or --bump-revision 0 on all",
		          field_string(s->tool, "path"), field_string(s->tool, "version"));
	if (s->plan->bump_revision == 0)
		texts_add(&s->plan->mind,
		          "%sthe revision goes back to %lld: whoever has seen a later one, and watches, "
		          "believes what is gone. Restart all of kube-apiserver, "
		          "kube-controller-manager, kube-scheduler, kubelet and every operator",
		          s->wish->bump_is_given
		              ? ""
		              : "this tool cannot raise the revision (3.4.27 and 3.5.10 can), so ",
		          (long long) field_integer(s->source, "revision"));
}

/* --- the snapshot --- */

static void look_at_proof(const struct subject *s)
{
	const json_t *entry = json_object_get(s->source, "entry");
	struct texts *mind = &s->plan->mind;

	if (!field_is_true(s->source, "digest"))
		texts_add(mind, "it has no digest: its tree and its keys are sound, but a wrong bit in a "
		                "value would not be seen, and what the WAL had behind it is not in it");
	if (json_is_null(entry))
		texts_add(mind, "the catalogue does not know it: from which cluster it is, and whether "
		                "another member agreed, nobody can tell");
	else if (json_is_null(json_object_get(json_object_get(entry, "verified"), "hashkv")))
		texts_add(mind, "no other member has agreed to its HashKV");
}

static void look_at_passed(const struct subject *s)
{
	static const struct {
		const char *key, *what;
	} kinds[] = {
	    {"plain", "are not encrypted, as others are"},
	    {"unsigned", "are not signed"},
	    {"unknown_key", "are signed by keys that are not trusted"},
	    {"wrong_signature", "have a wrong signature"},
	    {"newer_format", "are signed in a format of a newer version: use that version"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		json_int_t n = field_integer(json_object_get(s->source, "passed_over"), kinds[i].key);

		if (n > 0)
			texts_add(&s->plan->mind, "%lld snapshots were passed over that %s", (long long) n,
			          kinds[i].what);
	}
}

/* What comes from a store is only as good as its signature; a store that hides the newest one shows
 * in what this node knows. */
static void look_at_signature(const struct subject *s)
{
	const char *verdict = field_string(s->source, "signed");
	const json_t *newer = json_object_get(s->source, "newer_known");

	if (strcmp(verdict, "unknown-key") == 0)
		texts_add(
		    &s->plan->mind,
		    "it is signed by a key that is not known here, %s: compare it with 'fairlead etcd "
		    "snapshot key' of the node that took it",
		    field_string(json_object_get(s->source, "entry"), "key"));
	else if (strcmp(verdict, "none") == 0 && !s->wish->source_is_local)
		texts_add(&s->plan->mind, "it is not signed, as those of older versions are not: nothing "
		                          "shows that it is of this cluster");
	if (json_is_object(newer))
		texts_add(field_is_true(newer, "named") ? &s->plan->mind : &s->plan->against,
		          "this node knows a newer one, %s of %s, which the store did not show: name the "
		          "one that is meant by its id",
		          field_string(newer, "id"), field_string(newer, "started"));
}

static void look_at_content(const struct subject *s)
{
	const json_t *alarms = json_object_get(s->source, "alarms");
	struct texts *mind = &s->plan->mind;

	for (size_t i = 0; i < json_array_size(alarms); i++) {
		const char *alarm = json_string_value(json_array_get(alarms, i));

		if (strcmp(alarm, "CORRUPT") == 0)
			texts_add(mind, "the alarm CORRUPT is in it, and stays: a member disagreed with the "
			                "others when it was taken. Is there one from before?");
		else
			texts_add(mind,
			          "the alarm %s is in it, and etcd refuses writes until it is gone: make "
			          "room, then etcdctl alarm disarm",
			          alarm);
	}
	if (field_is_true(s->source, "auth_enabled"))
		texts_add(mind, "authentication is on, with the users and passwords of then");
	texts_add(mind, "what kube-apiserver encrypts it decrypts with the keys of then "
	                "(--encryption-provider-config), and certificates are not in etcd");
}

static void look_at_extra(const struct subject *s)
{
	const json_t *extra = json_object_get(json_object_get(s->source, "entry"), "extra");

	for (size_t i = 0; i < json_array_size(extra); i++)
		texts_add(&s->plan->mind, "with it were packed, and are not restored: %s",
		          json_string_value(json_array_get(extra, i)));
}

static void look_at_learner(const struct subject *s, const json_t *member, const char *name)
{
	if (field_is_true(member, "demoted"))
		texts_add(
		    &s->plan->mind,
		    "'%s' is a learner in the database and a voter in etcd's member list of that "
		    "time (etcd 3.5.1 to 3.5.19 does not write a promotion); it is restored as a voter",
		    name);
	else if (field_is_true(member, "learner") && field_is_true(member, "listed"))
		texts_add(&s->plan->mind,
		          "'%s' was a learner when the snapshot was taken, and is restored as a voter",
		          name);
	else if (field_is_true(member, "learner"))
		texts_add(&s->plan->mind,
		          "'%s' is a learner in the snapshot (etcd 3.5.1 to 3.5.19 does not write a "
		          "promotion), and is restored as a voter",
		          name);
}

static void look_at_left_out(const struct subject *s, const json_t *member, const char *url)
{
	const char *name = field_string(member, "name");

	if (name[0] != '\0')
		texts_add(&s->plan->mind,
		          "'%s' was a member and is none any more: it joins again "
		          "with etcdctl member add and an empty data directory",
		          name);
	else if (field_is_true(member, "listed"))
		texts_add(&s->plan->mind,
		          "the member at %s was not started when the snapshot was taken, and is left out",
		          url);
	else
		texts_add(&s->plan->mind,
		          "the member at %s has no name in the snapshot, and is left out: if it was ever "
		          "started, name all members by --initial-cluster",
		          url);
}

static void look_at_member(const struct subject *s, const json_t *member)
{
	const char *name = field_string(member, "name");
	const char *url = json_string_value(json_array_get(json_object_get(member, "peer_urls"), 0));
	const struct newcluster_member *now =
	    newcluster_find_url(s->plan->cluster, url != NULL ? url : "");

	if (now == NULL)
		now = newcluster_find(s->plan->cluster, name);
	if (now == NULL) {
		look_at_left_out(s, member, url != NULL ? url : "no peer URL");
		return;
	}
	if (field_is_true(member, "called") && strcmp(now->name, name) == 0)
		texts_add(&s->plan->mind,
		          "the member at %s has no name in the snapshot, as etcd 3.5 keeps none of "
		          "those that joined later, and is called '%s' here, whatever its --name "
		          "is; if it was never started, name the others by --initial-cluster",
		          name, name);
	look_at_learner(s, member, now->name);
}

static void look_at_members(const struct subject *s)
{
	const json_t *members = s->plan->members;

	for (size_t i = 0; i < json_array_size(members); i++)
		look_at_member(s, json_array_get(members, i));
	if (s->plan->cluster->n_members % 2 == 0)
		texts_add(&s->plan->mind, "%zu members bear the loss of %zu, as many as %zu would",
		          s->plan->cluster->n_members, s->plan->cluster->n_members / 2 - 1,
		          s->plan->cluster->n_members - 1);
}

/* A member too few lives on in a second cluster; --initial-cluster says which there are. */
static void look_at_differences(const struct subject *s)
{
	bool decided = s->wish->initial_cluster != NULL;
	const struct texts *differ = &s->plan->differ;

	for (size_t i = 0; i < differ->n; i++)
		texts_add(decided ? &s->plan->mind : &s->plan->against,
		          "etcd's member list of that time, in the catalogue, and the one in the database "
		          "differ: %s%s",
		          differ->items[i],
		          decided ? ""
		                  : "; name the members yourself, --initial-cluster NAME=PEER-URL,...");
}

/* --- afterwards --- */

static void say_what_comes_after(const struct subject *s)
{
	struct texts *then = &s->plan->then;

	texts_add(then, "what was made since the snapshot is gone from etcd but may be in the world: "
	                "nodes, volumes, load balancers, pods that still run");
	texts_add(then, "take a snapshot, and when all is well remove what was moved aside");
}

static void say_how_to_start(const struct subject *s)
{
	struct texts *then = &s->plan->then;
	bool kubelet = field_is_true(s->host, "kubelet");

	if (s->wish->wal_dir != NULL)
		texts_add(then,
		          "the new WAL is in %s/member/wal, and the old one must go: mv %s "
		          "%s.before-restore && mv %s/member/wal %s",
		          field_string(s->dir, "path"), s->wish->wal_dir, s->wish->wal_dir,
		          field_string(s->dir, "path"), s->wish->wal_dir);
	if (s->plan->n_others > 0)
		texts_add(then, "restore the other members, all from the same file, before any is started");
	texts_add(then, "%s%s%s", kubelet ? "put the manifest of etcd back" : "start etcd",
	          s->plan->n_others > 0 ? ", on all nodes at about the same time" : "",
	          kubelet ? "" : ": systemctl start etcd");
	if (s->plan->n_others > 0)
		texts_add(then,
		          "wait until etcdctl endpoint health --cluster finds all %zu of them healthy",
		          s->plan->cluster->n_members);
	else
		texts_add(then, "wait until etcdctl endpoint health says that it is healthy");
	texts_add(then, kubelet ? "then put the manifest of kube-apiserver back, and restart "
	                          "kube-controller-manager and kube-scheduler"
	                        : "then start what uses it, kube-apiserver first, and restart "
	                          "kube-controller-manager and kube-scheduler");
	if (s->wish->alone)
		texts_add(then,
		          "then let the others join, one by one: etcdctl member add, and etcd with an "
		          "empty data directory and --initial-cluster-state existing");
	say_what_comes_after(s);
}

void restoreadvice_give(const struct restoreplan_wish *wish, const json_t *host,
                        const json_t *source, struct restoreplan *plan)
{
	const struct subject s = {
	    .wish = wish,
	    .host = host,
	    .dir = json_object_get(host, "data_dir"),
	    .tool = json_object_get(host, "tool"),
	    .source = source,
	    .plan = plan,
	};

	if (!wish->of_cluster) {
		look_at_dir(&s);
		look_at_manifests(&s);
		look_at_disk(&s);
		look_at_tool(&s);
	}
	look_at_proof(&s);
	look_at_passed(&s);
	look_at_signature(&s);
	look_at_content(&s);
	look_at_extra(&s);
	look_at_differences(&s);
	if (plan->self != NULL)
		look_at_peers(&s);
	if (plan->self != NULL || (wish->of_cluster && plan->cluster != NULL))
		look_at_members(&s);
	if (plan->self != NULL)
		say_how_to_start(&s);
	if (wish->of_cluster)
		say_what_comes_after(&s);
}
