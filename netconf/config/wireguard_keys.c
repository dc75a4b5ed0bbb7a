/* SPDX-License-Identifier: Apache-2.0 */
/* Key files: read, and wiped behind. */
#include "netconf/config/wireguard_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"

#define FILE_MAX_BYTES 256

static int read_key(const char *path, struct wireguard_key *ret_key)
{
	char *text = NULL;
	size_t len;
	int r = file_read(path, FILE_MAX_BYTES, &text, &len);

	if (r < 0)
		return r;
	text[strcspn(text, " \t\r\n")] = '\0';
	r = wireguard_key_parse(text, ret_key);
	explicit_bzero(text, len);
	free(text);
	return r;
}

/* It goes on with the key that it has on the link; without that key it is none that anybody wants.
 */
static void keep_peer(struct wireguard *wireguard, size_t i, const struct wireguard *have)
{
	struct wireguard_peer *peer = &wireguard->peers[i];
	const struct wireguard_peer *old =
	    have != NULL ? wireguard_find_peer(have, &peer->public_key) : NULL;

	if (old == NULL) {
		wireguard_remove_peer(wireguard, i);
		return;
	}
	peer->has_preshared_key = old->has_preshared_key;
	peer->preshared_key = old->preshared_key;
}

void wireguard_read_keys(struct wireguard *wireguard, const struct wireguard *have,
                         wireguard_unread_fn unread, void *userdata)
{
	int r;

	if (wireguard->private_key_file != NULL) {
		r = read_key(wireguard->private_key_file, &wireguard->private_key);
		if (r < 0) {
			wireguard->has &= ~(unsigned) WIREGUARD_PRIVATE_KEY;
			unread(wireguard->private_key_file, r, userdata);
		}
	}
	for (size_t i = wireguard->n_peers; i-- > 0;) {
		struct wireguard_peer *peer = &wireguard->peers[i];

		if (peer->preshared_key_file == NULL)
			continue;
		r = read_key(peer->preshared_key_file, &peer->preshared_key);
		peer->has_preshared_key = r == 0;
		if (r < 0) {
			unread(peer->preshared_key_file, r, userdata);
			keep_peer(wireguard, i, have);
		}
	}
	wireguard_normalise(wireguard);
}
