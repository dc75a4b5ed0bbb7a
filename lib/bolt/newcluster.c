/* SPDX-License-Identifier: Apache-2.0 */
/* Splits at commas, checks each part as etcd would, gathers the URLs of a name, computes the ids.
 */
#include "bolt/newcluster.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "bolt/bytes.h"

/* --- memberid --- */

/* The first eight bytes of a SHA-1, as a big-endian number: of the URLs in order and the token, or
 * of the members' ids in order. */

static uint64_t digest(const void *data, size_t len)
{
	uint8_t hash[SHA_DIGEST_LENGTH];

	openssl_expect(EVP_Digest(data, len, hash, NULL, EVP_sha1(), NULL), "EVP_Digest");
	return bytes_be64(hash);
}

static int compare_texts(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

uint64_t memberid_of_member(const char *const *peer_urls, size_t n, const char *token)
{
	AUTO(free) const char **sorted = xcalloc(n + 1, sizeof(*sorted));
	AUTO(free) char *text = NULL;
	size_t len = strlen(token), at = 0;

	for (size_t i = 0; i < n; i++) {
		sorted[i] = peer_urls[i];
		len += strlen(peer_urls[i]);
	}
	qsort(sorted, n, sizeof(*sorted), compare_texts);
	sorted[n] = token;
	text = xcalloc(1, len + 1);
	for (size_t i = 0; i <= n; i++) {
		size_t part = strlen(sorted[i]);

		memcpy(text + at, sorted[i], part);
		at += part;
	}
	return digest(text, len);
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

uint64_t memberid_of_cluster(const uint64_t *member_ids, size_t n)
{
	AUTO(free) uint64_t *ids = xmemdup(member_ids, n * sizeof(*ids));

	qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < n; i++)
		ids[i] = htobe64(ids[i]);
	return digest(ids, n * sizeof(*ids));
}

/* --- newcluster --- */

void newcluster_free(struct newcluster *cluster)
{
	if (cluster == NULL)
		return;
	for (size_t i = 0; i < cluster->n_members; i++) {
		struct newcluster_member *m = &cluster->members[i];

		for (size_t k = 0; k < m->n_peer_urls; k++)
			free(m->peer_urls[k]);
		free(m->peer_urls);
		free(m->name);
	}
	free(cluster->members);
	free(cluster);
}

const struct newcluster_member *newcluster_find(const struct newcluster *cluster, const char *name)
{
	for (size_t i = 0; i < cluster->n_members; i++) {
		if (strcmp(cluster->members[i].name, name) == 0)
			return &cluster->members[i];
	}
	return NULL;
}

const struct newcluster_member *newcluster_find_url(const struct newcluster *cluster,
                                                    const char *peer_url)
{
	for (size_t i = 0; i < cluster->n_members; i++) {
		for (size_t k = 0; k < cluster->members[i].n_peer_urls; k++) {
			if (strcmp(cluster->members[i].peer_urls[k], peer_url) == 0)
				return &cluster->members[i];
		}
	}
	return NULL;
}

char *newcluster_urls(const struct newcluster_member *member)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < member->n_peer_urls; i++) {
		AUTO(free) char *before = text;

		text = xasprintf("%s%s%s", before, i > 0 ? "," : "", member->peer_urls[i]);
	}
	return text;
}

/* --- parsing --- */

/* The member of that name, made if there is none. */
static struct newcluster_member *member_of(struct newcluster *cluster, const char *name)
{
	struct newcluster_member *m;

	for (size_t i = 0; i < cluster->n_members; i++) {
		if (strcmp(cluster->members[i].name, name) == 0)
			return &cluster->members[i];
	}
	cluster->members =
	    xreallocarray(cluster->members, cluster->n_members + 1, sizeof(cluster->members[0]));
	m = &cluster->members[cluster->n_members++];
	*m = (struct newcluster_member){.name = xstrdup(name)};
	return m;
}

static bool is_known_url(const struct newcluster *cluster, const char *url)
{
	for (size_t i = 0; i < cluster->n_members; i++) {
		for (size_t k = 0; k < cluster->members[i].n_peer_urls; k++) {
			if (strcmp(cluster->members[i].peer_urls[k], url) == 0)
				return true;
		}
	}
	return false;
}

/* NULL, or what etcd would have against it. */
static const char *check_url(const char *url)
{
	struct conf_url parsed;
	const char *why = conf_parse_url(url, &parsed);

	if (why != NULL)
		return why;
	if (!parsed.has_port)
		return "has no port";
	return parsed.rest[0] != '\0' ? "has something behind the port" : NULL;
}

static char *add_part(struct newcluster *cluster, const char *part)
{
	const char *equals = strchr(part, '=');
	AUTO(free) char *name = NULL;
	struct newcluster_member *m;
	const char *why;

	if (equals == NULL || equals == part)
		return xasprintf("'%s' is not NAME=PEER-URL", part);
	name = xstrndup(part, (size_t) (equals - part));
	why = check_url(equals + 1);
	if (why != NULL)
		return xasprintf("the peer URL of '%s' %s: '%s'", name, why, equals + 1);
	if (is_known_url(cluster, equals + 1))
		return xasprintf("the peer URL '%s' is there twice", equals + 1);
	m = member_of(cluster, name);
	if (cluster->n_members > NEWCLUSTER_MEMBERS_MAX)
		return xasprintf("there are more than %d members", NEWCLUSTER_MEMBERS_MAX);
	m->peer_urls = xreallocarray(m->peer_urls, m->n_peer_urls + 1, sizeof(m->peer_urls[0]));
	m->peer_urls[m->n_peer_urls++] = xstrdup(equals + 1);
	return NULL;
}

static void compute_ids(struct newcluster *cluster, const char *token)
{
	uint64_t ids[NEWCLUSTER_MEMBERS_MAX];

	for (size_t i = 0; i < cluster->n_members; i++) {
		struct newcluster_member *m = &cluster->members[i];

		m->id = memberid_of_member((const char *const *) m->peer_urls, m->n_peer_urls, token);
		ids[i] = m->id;
	}
	cluster->id = memberid_of_cluster(ids, cluster->n_members);
}

char *newcluster_parse(const char *text, const char *token, struct newcluster **ret_cluster)
{
	AUTO(newcluster_free) struct newcluster *cluster = NEW0(struct newcluster);
	const char *p = text;

	for (;;) {
		size_t len = strcspn(p, ",");
		AUTO(free) char *part = xstrndup(p, len);
		char *why = add_part(cluster, part);

		if (why != NULL)
			return why;
		if (p[len] == '\0')
			break;
		p += len + 1;
	}
	compute_ids(cluster, token);
	*ret_cluster = TAKE_PTR(cluster);
	return NULL;
}
