/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The probe process's end of the socket to prism (prism/checker.h has the messages).
 */

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "prism/endpoints.h"

/*
 * What the probe process is to do: the first message that it gets (prism/checker.h). Immutable once
 * read. Pure.
 */

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

struct wire;

struct wire_callbacks {
	/* One message, an object; borrowed until the return. */
	void (*message)(const json_t *message, void *userdata);
	/* Nothing more comes: r is 0 when prism is gone, or -EBADMSG for what is not a message, or
	 * what else went wrong. */
	void (*closed)(int r, void *userdata);
};

/* fd is borrowed, and left as it is; callbacks are borrowed until wire_free(). */
struct wire *wire_new(struct ev_loop *ev, int fd, const struct wire_callbacks *callbacks,
                      void *userdata);
void wire_free(struct wire *wire);
DEFINE_AUTO(struct wire, wire_free);

/* These wait until there is room: while prism does not read, there is nothing else to do. */
void wire_send_verdict(struct wire *wire, uint64_t id, const char *verdict, const char *reason,
                       int64_t rtt_us);
/* Either list or error. */
void wire_send_endpoints(struct wire *wire, const char *source, const struct endpoints_list *list,
                         const char *error);
