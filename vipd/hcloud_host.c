/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses behind the API's name, and which of them is in use. Name services turn the order
 * round from answer to answer, so the one in use stays in use for as long as it is among them and
 * somebody answers there.
 */
#include "vipd/hcloud_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/conf_check.h"
#include "base/fileio.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/resolve.h"

#define AGAIN_US (300 * US_PER_S)
#define AGAIN_FAILED_US (10 * US_PER_S)

struct hcloud_host {
	struct ev_loop *ev;
	hcloud_host_looked_fn looked;
	void *userdata;
	char *name; /* NULL: the URL has an address */
	struct addr addrs[RESOLVE_ADDRS_MAX];
	size_t n_addrs;
	size_t at; /* in use */
	struct resolve *resolve;
	char error[RESOLVE_ERROR_MAX];
	ev_timer again;
};

static void look_again_in(struct hcloud_host *h, int64_t us)
{
	ev_now_update(h->ev);
	loop_timer_in(h->ev, &h->again, us);
}

static void take_addrs(struct hcloud_host *h, const struct resolve_result *result)
{
	struct addr in_use = hcloud_host_addr(h);

	memcpy(h->addrs, result->addrs, sizeof(h->addrs));
	h->n_addrs = result->n;
	h->at = 0;
	for (size_t i = 0; i < h->n_addrs; i++) {
		if (addr_equal(&h->addrs[i], &in_use))
			h->at = i;
	}
}

static void resolved_cb(const struct resolve_result *result, void *userdata)
{
	struct hcloud_host *h = userdata;

	h->resolve = NULL;
	(void) snprintf(h->error, sizeof(h->error), "%s", result->error);
	/* Where the name service fails, what it said before is still worth a try. */
	if (result->n > 0)
		take_addrs(h, result);
	look_again_in(h, result->n > 0 ? AGAIN_US : AGAIN_FAILED_US);
	h->looked(h->userdata);
}

void hcloud_host_look(struct hcloud_host *h)
{
	int r;

	if (h->name == NULL || h->resolve != NULL)
		return;
	ev_timer_stop(h->ev, &h->again);
	r = resolve_start(h->ev, h->name, RESOLVE_OWN, resolved_cb, h, &h->resolve);
	if (r < 0) {
		(void) snprintf(h->error, sizeof(h->error), "%s", strerror(-r));
		look_again_in(h, AGAIN_FAILED_US);
	}
}

static void again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	hcloud_host_look(CONTAINER_OF(w, struct hcloud_host, again));
}

struct hcloud_host *hcloud_host_new(struct ev_loop *ev, const char *url,
                                    hcloud_host_looked_fn looked, void *userdata)
{
	struct hcloud_host *h = NEW0(struct hcloud_host);
	struct conf_url parts;

	h->ev = ev;
	h->looked = looked;
	h->userdata = userdata;
	ev_timer_init(&h->again, again_cb, 0., 0.);
	(void) conf_parse_url(url, &parts);
	if (!parts.is_address)
		h->name = xstrdup(parts.host);
	hcloud_host_look(h);
	return h;
}

void hcloud_host_free(struct hcloud_host *h)
{
	if (h == NULL)
		return;
	resolve_cancel(h->resolve);
	ev_timer_stop(h->ev, &h->again);
	free(h->name);
	free(h);
}

bool hcloud_host_is_known(const struct hcloud_host *h)
{
	return h->name == NULL || h->n_addrs > 0;
}

struct addr hcloud_host_addr(const struct hcloud_host *h)
{
	return h->n_addrs > 0 ? h->addrs[h->at] : (struct addr){0};
}

void hcloud_host_no_answer(struct hcloud_host *h)
{
	if (h->n_addrs > 0)
		h->at = (h->at + 1) % h->n_addrs;
}

const char *hcloud_host_error(const struct hcloud_host *h)
{
	return h->error;
}

/* --- the token --- */

/*
 * The token is in the configuration or, better, in a file of its own, which may not be open to
 * others.
 */

#define TOKEN_BYTES_MAX 4096

int hcloud_token_read(const struct config_hcloud *config, char ret_text[static HCLOUD_TEXT_MAX],
                      char **ret_token)
{
	const char *path = config->api_token_file;
	struct stat st;
	char *token = NULL;
	size_t len;
	int r;

	if (path == NULL) {
		*ret_token = xstrdup(config->api_token);
		return 0;
	}
	r = stat(path, &st) < 0 ? -errno : 0;
	if (r == 0 && (st.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX,
		                "%.180s is open to others (mode %04o): chmod 0600 it, and make a new token",
		                path, st.st_mode & 07777u);
		return -EPERM;
	}
	if (r == 0)
		r = file_read(path, TOKEN_BYTES_MAX, &token, &len);
	if (token == NULL) {
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "%.180s: %s", path, strerror(-r));
		return r;
	}
	token[strcspn(token, "\r\n")] = '\0';
	*ret_token = token;
	return 0;
}

void hcloud_token_free(char *token)
{
	if (token == NULL)
		return;
	explicit_bzero(token, strlen(token));
	free(token);
}
