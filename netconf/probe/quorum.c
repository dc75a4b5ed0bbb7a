/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of a quorum. A quorum that is lost already is no reason to refuse: the change may
 * be what brings it back; and where all others are well nothing is to be waited for, though two
 * members can never do without one.
 */
#include "netconf/probe/quorum.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443

DEFINE_AUTO(json_t, json_decref);

/* --- reading --- */

int quorum_endpoint(const char *url, struct endpoint *ret_endpoint)
{
	AUTO(free) char *text = NULL;
	struct conf_url parsed;

	if (conf_parse_url(url, &parsed) != NULL || !parsed.is_address)
		return -EINVAL;
	url = strstr(url, "://") + strlen("://");
	text = xstrndup(url, strcspn(url, "/"));
	return endpoint_parse(text, parsed.https ? HTTPS_PORT : HTTP_PORT, ret_endpoint);
}

static bool is_loopback(const char *url)
{
	struct endpoint endpoint;

	return strstr(url, "://localhost") != NULL ||
	       (quorum_endpoint(url, &endpoint) == 0 && addr_is_loopback(&endpoint.addr));
}

static char *best_url(const json_t *urls)
{
	const char *best = NULL;

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));

		if (url != NULL && (best == NULL || (is_loopback(best) && !is_loopback(url))))
			best = url;
	}
	return best != NULL ? xstrdup(best) : NULL;
}

static bool is_here(const char *url, const struct model *have)
{
	struct endpoint endpoint;

	if (url == NULL || quorum_endpoint(url, &endpoint) < 0)
		return false;
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (addr_equal(&have->addresses[i].prefix.addr, &endpoint.addr))
			return true;
	}
	return false;
}

static int read_member(const json_t *json, const struct model *have, struct quorum_member *member)
{
	const char *name = json_string_value(json_object_get(json, "name"));

	if (!json_is_object(json))
		return -EBADMSG;
	member->name = xstrdup(name != NULL ? name : "");
	member->client_url = best_url(json_object_get(json, "clientURLs"));
	member->peer_url = best_url(json_object_get(json, "peerURLs"));
	member->is_voter = !json_is_true(json_object_get(json, "isLearner"));
	/* A client's URL may be a loopback address on every node; the peers' cannot. */
	member->is_self = is_here(member->peer_url, have);
	return 0;
}

int quorum_read(const char *text, size_t len, const struct model *have, struct quorum *ret_quorum)
{
	AUTO(json_decref) json_t *json = json_loadb(text, len, JSON_DECODE_INT_AS_REAL, NULL);
	const json_t *members = json_object_get(json, "members");
	struct quorum quorum = {0};
	int r = json_is_array(members) && json_array_size(members) <= QUORUM_MEMBERS_MAX ? 0 : -EBADMSG;

	if (r < 0)
		return r;
	quorum.members = xcalloc(json_array_size(members) + 1, sizeof(*quorum.members));
	while (r == 0 && quorum.n < json_array_size(members)) {
		r = read_member(json_array_get(members, quorum.n), have, &quorum.members[quorum.n]);
		quorum.n++;
	}
	if (r < 0)
		quorum_fini(&quorum);
	else
		*ret_quorum = quorum;
	return r;
}

void quorum_fini(struct quorum *quorum)
{
	for (size_t i = 0; i < quorum->n; i++) {
		free(quorum->members[i].name);
		free(quorum->members[i].client_url);
		free(quorum->members[i].peer_url);
	}
	free(quorum->members);
	*quorum = (struct quorum){0};
}

/* --- judging --- */

struct count {
	size_t voters, others_well, self, self_well;
};

static struct count count(const struct quorum *quorum)
{
	struct count count = {0};

	for (size_t i = 0; i < quorum->n; i++) {
		const struct quorum_member *member = &quorum->members[i];

		if (!member->is_voter)
			continue;
		count.voters++;
		count.self += member->is_self;
		count.self_well += member->is_self && member->is_well;
		count.others_well += !member->is_self && member->is_well;
	}
	return count;
}

bool quorum_has_others(const struct quorum *quorum)
{
	struct count c = count(quorum);

	return c.self > 0 && c.voters > c.self;
}

static void name_unwell(const struct quorum *quorum, FILE *out)
{
	bool is_first = true;

	for (size_t i = 0; i < quorum->n; i++) {
		const struct quorum_member *member = &quorum->members[i];

		if (!member->is_voter || member->is_self || member->is_well)
			continue;
		(void) fprintf(out, "%s'%s'", is_first ? "" : ", ",
		               member->name[0] != '\0' ? member->name : "a member that never started");
		if (member->peer_url != NULL)
			(void) fprintf(out, " (%s)", member->peer_url);
		is_first = false;
	}
}

bool quorum_hangs_on_self(const struct quorum *quorum, char ret_reason[static QUORUM_REASON_MAX])
{
	struct count c = count(quorum);
	size_t needed = c.voters / 2 + 1;
	FILE *out;

	if (!quorum_has_others(quorum) || c.others_well + c.self == c.voters ||
	    c.others_well >= needed || c.others_well + c.self_well < needed)
		return false;
	out = fmemopen(ret_reason, QUORUM_REASON_MAX, "w");
	(void) fprintf(out, "etcd has %zu members and needs %zu, and does not hear from ", c.voters,
	               needed);
	name_unwell(quorum, out);
	(void) fputs(
	    ": if this change cut this node off, the quorum would be lost. Mend that first, or "
	    "apply it with --even-without-quorum",
	    out);
	(void) fclose(out);
	ret_reason[QUORUM_REASON_MAX - 1] = '\0';
	return true;
}
