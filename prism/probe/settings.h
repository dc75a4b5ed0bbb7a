/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the probe process is to do: the first message that it gets (prism/checker.h). Immutable once
 * read. Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"

#define SETTINGS_TEXT_MAX 4096 /* a path, PATH_MAX */
#define SETTINGS_NAMES_MAX 64
#define SETTINGS_MS_MAX (24 * 3600 * 1000)

struct settings_name {
	char *name;
	uint16_t port;
};

/* A text is NULL where there is none. */
struct settings {
	bool debug;  /* log at that level */
	bool checks; /* false: TCP connects only */
	char *path;
	char *server_name;
	char *ca_file;
	char *client_cert_file;
	char *client_key_file;
	char *token_file;
	const char *client_directory; /* of probecert.h, for what has none of the three; or NULL */
	unsigned timeout_ms;

	char *kubeconfig; /* NULL: no EndpointSlices */
	int64_t slices_interval_us;
	struct endpoint through; /* port 0: none */

	char *members_socket;
	char *members_file;
	uint16_t members_port;

	struct settings_name *names;
	size_t n_names;
};

/* 0, or -EBADMSG with the key that is wrong in *ret_error, a constant. */
int settings_parse(const json_t *message, struct settings **ret_settings, const char **ret_error);
void settings_free(struct settings *settings);
DEFINE_AUTO(struct settings, settings_free);
