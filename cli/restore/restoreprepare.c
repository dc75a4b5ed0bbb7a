/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot from standard input goes into a file next to the data directory, as there is room for
 * what is made of it, and is compared with its SHA-256 like any other. */
#include "cli/restore/restoreprepare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "cli/common/table.h"
#include "cli/restore/restoreservice.h"

/* --- restorepresent --- */

/* etcd 3.4 leaves members of before a restore in its database, with the same peer URLs and other
 * ids, so a member whose peer URLs were seen counts once. */

static const struct newcluster_member *find(const struct newcluster *cluster, const json_t *urls)
{
	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		const struct newcluster_member *member =
		    url != NULL ? newcluster_find_url(cluster, url) : NULL;

		if (member != NULL)
			return member;
	}
	return NULL;
}

static bool was_seen(const json_t *present, size_t n, const json_t *urls)
{
	for (size_t i = 0; i < n; i++) {
		if (json_equal(json_object_get(json_array_get(present, i), "peer_urls"), urls))
			return true;
	}
	return false;
}

static bool is_left_out(const struct newcluster *cluster, const struct newcluster_member *member,
                        const struct texts *without)
{
	for (size_t i = 0; i < without->n; i++) {
		if (newcluster_find(cluster, without->items[i]) == member)
			return true;
	}
	return false;
}

void restorepresent_check(const json_t *present, const struct newcluster *cluster,
                          const struct texts *without, struct texts *ret_against)
{
	size_t n = 0, n_stopped = 0;

	for (size_t i = 0; i < json_array_size(present); i++) {
		const json_t *member = json_array_get(present, i);
		const json_t *urls = json_object_get(member, "peer_urls");
		const char *name = json_string_value(json_object_get(member, "name"));
		const char *url = json_string_value(json_array_get(urls, 0));
		const struct newcluster_member *planned = find(cluster, urls);

		if (was_seen(present, i, urls))
			continue;
		n++;
		if (planned == NULL)
			texts_add(
			    ret_against,
			    "the member '%s' at %s is in the present cluster and not in the plan, so it "
			    "would go on as a second cluster: name all present members, --initial-cluster "
			    "NAME=PEER-URL,...",
			    name != NULL ? name : "", url != NULL ? url : "no peer URL");
		else
			n_stopped += !is_left_out(cluster, planned, without);
	}
	if (n > 0 && n_stopped * 2 <= n)
		texts_add(ret_against,
		          "this restore stops %zu of the %zu members of the present cluster, so the others "
		          "would go on as a second cluster: more than half have to take part",
		          n_stopped, n);
}

/* --- restoreprepare --- */

#define BUFFER_BYTES ((size_t) 1 << 20)

char *restoreprepare_plan(const char *sha256, uint64_t bump_revision, const char *initial_cluster)
{
	return xasprintf("%s %" PRIu64 " %s", sha256, bump_revision, initial_cluster);
}

char *restoreprepare_incoming(const char *data_dir)
{
	return xasprintf("%s.incoming.db", data_dir);
}

/* --- what runs here --- */

static const char *manifests_of(const struct restoring *r)
{
	return r->options.manifests != NULL ? r->options.manifests : RESTOREOPTIONS_MANIFESTS;
}

json_t *restoreprepare_services(struct restoring *r)
{
	AUTO(free) char *stopped_dir = restoreservice_stopped_dir(manifests_of(r));
	const char *given = r->options.manifests;
	json_t *stopped, *services;
	int code;

	r->options.manifests = stopped_dir;
	code = restoring_look_at_host(r, NULL);
	r->options.manifests = given;
	if (code != CLI_OK)
		return NULL;
	stopped = json_incref(json_object_get(r->host, "manifests"));
	services = restoring_look_at_host(r, NULL) == CLI_OK
	               ? restoreservice_find(manifests_of(r), json_object_get(r->host, "manifests"),
	                                     stopped, r->options.unit)
	               : NULL;
	json_decref(stopped);
	return services;
}

/* --- the snapshot --- */

static int receive(const char *path)
{
	AUTO(close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	AUTO(free) char *buffer = xcalloc(BUFFER_BYTES, 1);
	ssize_t len = 0;
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && (len = read(STDIN_FILENO, buffer, BUFFER_BYTES)) != 0) {
		if (len < 0 && errno != EINTR)
			r = -errno;
		if (len > 0)
			r = file_write_all(fd, buffer, (size_t) len);
	}
	if (r == 0)
		return CLI_OK;
	return cli_fail("cannot write the snapshot from standard input to '%s': %s", path,
	                strerror(-r));
}

/* --- the state --- */

/* Takes the services. */
static int note(struct restoring *r, struct restorestate *state, json_t *services,
                const json_t *made)
{
	const struct restoreplan *plan = r->plan;
	const json_t *dir = json_object_get(r->host, "data_dir");
	AUTO(free)
	char *text = restoreprepare_plan(json_string_value(json_object_get(r->found, "sha256")),
	                                 plan->bump_revision, plan->initial_cluster);
	json_t *fields = json_pack(
	    "{s:s, s:s, s:s, s:s, s:s, s:O, s:s, s:O, s:O, s:O, s:O, s:O, s:O, s:o}", "token",
	    r->options.wish.token, "plan", text, "member", plan->self->name, "initial_cluster",
	    plan->initial_cluster, "peer_urls", plan->peer_urls, "data_dir",
	    json_object_get(dir, "path"), "manifests", manifests_of(r), "aside",
	    json_object_get(made, "aside"), "inode", json_object_get(made, "inode"), "old_inode",
	    json_object_get(dir, "inode"), "cluster_id", json_object_get(made, "cluster_id"),
	    "member_id", json_object_get(made, "member_id"), "revision",
	    json_object_get(made, "revision"), "services", services);
	json_t *without = json_array();

	if (fields == NULL) {
		json_decref(without);
		return cli_fail("the worker does not say what it made: is it of another version?");
	}
	for (size_t i = 0; i < r->options.without.n; i++)
		(void) json_array_append_new(without, json_string(r->options.without.items[i]));
	(void) json_object_set_new(fields, "without", without);
	json_decref(state->fields);
	state->fields = fields;
	return restorestate_advance(state, RESTORE_PREPARED);
}

/* --- all --- */

static int refuse(const struct restoreplan *plan)
{
	for (size_t i = 0; i < plan->against.n; i++)
		table_line(stderr, "fairlead: %s", plan->against.items[i]);
	return CLI_FAILED;
}

static int check_present(struct restoring *r, const json_t *members)
{
	restorepresent_check(members, r->plan->cluster, &r->options.without, &r->plan->against);
	return r->plan->against.n > 0 ? refuse(r->plan) : CLI_OK;
}

/* As etcd lists them now; without a quorum it has no list, and does not go on. */
static int check_living(struct restoring *r)
{
	struct texts words = {0};
	json_t *last = NULL;
	int code;

	texts_add(&words, "health");
	texts_add(&words, "--list");
	code = restoring_add_access(r, &words);
	if (code == CLI_OK)
		code = restoring_ask(r, &words, &last);
	if (code == CLI_OK)
		code = check_present(r, json_object_get(last, "members"));
	json_decref(last);
	return code;
}

/* Else the unit would be held, and etcd would run on. */
static int check_runner(const struct restoring *r, const json_t *services)
{
	if (!json_is_true(json_object_get(json_object_get(r->host, "data_dir"), "in_use")))
		return CLI_OK;
	for (size_t i = 0; i < json_array_size(services); i++) {
		const json_t *service = json_array_get(services, i);
		const char *name = json_string_value(json_object_get(service, "name"));

		if (!json_is_true(json_object_get(service, "unit")) ||
		    !json_is_true(json_object_get(service, "etcd")) || !restoreunit_is_stopped(name))
			continue;
		return cli_fail("etcd runs, and the unit '%s' does not run it: name the unit that "
		                "does (--unit), or stop etcd on this node",
		                name);
	}
	return CLI_OK;
}

/* The member that runs here, asked for by the id in its database. */
static int ask_own_member(struct restoring *r, const char *id, bool *ret_found)
{
	struct texts words = {0};
	json_t *last = NULL;
	const char *found;
	int code;

	texts_add(&words, "health");
	texts_add_option(&words, "--member-id", id);
	code = restoring_add_access(r, &words);
	if (code == CLI_OK)
		code = restoring_ask(r, &words, &last);
	found = json_string_value(json_object_get(last, "member_id"));
	*ret_found |= found != NULL && strcmp(found, id) == 0;
	json_decref(last);
	return code;
}

/* `health` needs an endpoint that is this member, and is first run when there is no way back. etcd
 * 3.4 may list this member with several ids (restoreplan.h). */
static int check_access(struct restoring *r)
{
	const json_t *members = json_object_get(r->host, "members");
	bool is_found = false, is_asked = false;
	int code = CLI_OK;

	if (!json_is_true(json_object_get(json_object_get(r->host, "data_dir"), "in_use")))
		return CLI_OK;
	for (size_t i = 0; code == CLI_OK && !is_found && i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i), *urls;
		const char *url, *id = json_string_value(json_object_get(member, "id"));

		urls = json_object_get(member, "peer_urls");
		url = json_string_value(json_array_get(urls, 0));
		if (url == NULL || newcluster_find_url(r->plan->cluster, url) != r->plan->self)
			continue;
		is_asked = true;
		code = ask_own_member(r, id, &is_found);
	}
	if (code != CLI_OK || is_found || !is_asked)
		return code;
	return cli_fail("no endpoint of EtcdClientConfig leads to the member on this node, so "
	                "the restored one could not be checked: add this node's own endpoint, "
	                "https://127.0.0.1:2379");
}

static int make(struct restoring *r, json_t **ret_made)
{
	struct texts words = {0};

	texts_add(&words, "restore");
	texts_add(&words, "make");
	texts_add_all(&words, &r->plan->words);
	texts_add(&words, "--");
	texts_add(&words, "%s", json_string_value(json_object_get(r->found, "file")));
	r->acted = true;
	return restoring_ask(r, &words, ret_made);
}

static int prepare(struct restoring *r, struct restorestate *state)
{
	json_t *services = restoreprepare_services(r);
	int code = services != NULL ? restoring_plan(r) : CLI_FAILED;

	if (code == CLI_OK && r->plan->against.n > 0)
		code = refuse(r->plan);
	if (code == CLI_OK)
		code = check_living(r);
	/* Also without a quorum now: members that do not run may start again. */
	if (code == CLI_OK)
		code = check_present(r, json_object_get(r->host, "members"));
	if (code == CLI_OK)
		code = check_runner(r, services);
	if (code == CLI_OK)
		code = check_access(r);
	if (code == CLI_OK)
		code = make(r, &r->result);
	if (code == CLI_OK)
		return note(r, state, services, r->result);
	json_decref(services);
	return code;
}

int restoreprepare_run(struct restoring *r, struct restorestate *state, const char *source)
{
	AUTO(free) char *incoming = restoreprepare_incoming(r->options.wish.data_dir);
	int code = CLI_OK;

	r->options.wish.while_running = true;
	r->options.from.source = source != NULL ? source : incoming;
	if (source == NULL)
		code = receive(incoming);
	if (code == CLI_OK)
		code = prepare(r, state);
	if (source == NULL)
		(void) unlink(incoming);
	return code;
}
