/* SPDX-License-Identifier: Apache-2.0 */
/* The key is read at each start; a reload is one. */
#include "etcdwatch/signing.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/log.h"
#include "base/mem.h"

#define STATE_DIRECTORY "/var/lib/fairlead/etcdwatch"
#define KEY_FILE "signing.key"

char *signing_state_path(const char *name)
{
	const char *directory = getenv("STATE_DIRECTORY");

	if (directory == NULL || directory[0] == '\0')
		directory = STATE_DIRECTORY;
	return xasprintf("%.*s/%s", (int) strcspn(directory, ":"), directory, name);
}

char *signing_path(void)
{
	return signing_state_path(KEY_FILE);
}

struct trust signing_trust(const struct conf_strings *trusted, const char *const *own_key)
{
	if (trusted != NULL && trusted->n > 0)
		return (struct trust){
		    .keys = (const char *const *) trusted->items, .n = trusted->n, .is_configured = true};
	return (struct trust){.keys = own_key, .n = *own_key != NULL};
}

static bool is_trusted(const struct conf_strings *trusted, const char *key)
{
	for (size_t i = 0; i < trusted->n; i++) {
		if (strcmp(trusted->items[i], key) == 0)
			return true;
	}
	return trusted->n == 0;
}

struct signature_key *signing_start(const struct conf_strings *trusted)
{
	AUTO(free) char *path = signing_path();
	struct signature_key *key = NULL;
	int r = signature_key_load_or_make(path, &key);

	if (r < 0)
		(void) log_warning_errno(r, "signing_key_failed",
		                         "path=%s reason=\"snapshots are not signed\" advice=\"%s\"", path,
		                         signature_key_advice(r));
	else if (!is_trusted(trusted, signature_key_public(key)))
		log_warning("signing_key_not_trusted", "key=%s reason=\"trustedKeys does not have it\"",
		            signature_key_public(key));
	return key;
}

void signing_command(struct control_request *request, int argc, const struct daemon *daemon)
{
	const struct conf_strings *trusted = daemon_trusted_keys(daemon);
	const char *own = daemon_own_key(daemon);
	json_t *keys = json_array();

	if (argc != 0) {
		json_decref(keys);
		control_fail(request, CONTROL_USAGE, "etcd snapshot key");
		return;
	}
	for (size_t i = 0; i < trusted->n; i++)
		(void) json_array_append_new(keys, jsonval_text(trusted->items[i]));
	control_reply(request,
	              json_pack("{s:o, s:o, s:b, s:o}", "node", jsonval_text(daemon_node(daemon)),
	                        "key", jsonval_text(own), "trusted",
	                        own != NULL && is_trusted(trusted, own), "trusted_keys", keys));
	control_ok(request);
}
