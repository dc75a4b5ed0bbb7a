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

void wireguard_read_keys(struct wireguard *wireguard, wireguard_unread_fn unread, void *userdata)
{
	int r;

	if (wireguard->private_key_file != NULL) {
		r = read_key(wireguard->private_key_file, &wireguard->private_key);
		if (r < 0) {
			wireguard->has &= ~(unsigned) WIREGUARD_PRIVATE_KEY;
			unread(wireguard->private_key_file, r, userdata);
		}
	}
	for (size_t i = 0; i < wireguard->n_peers; i++) {
		struct wireguard_peer *peer = &wireguard->peers[i];

		if (peer->preshared_key_file == NULL)
			continue;
		r = read_key(peer->preshared_key_file, &peer->preshared_key);
		if (r < 0) {
			wireguard->has &= ~(unsigned) WIREGUARD_PEERS;
			unread(peer->preshared_key_file, r, userdata);
		}
		peer->has_preshared_key = r == 0;
	}
	wireguard_normalise(wireguard);
}
