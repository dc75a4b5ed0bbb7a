/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the client's options for as long as a call takes; keeps nothing, least of all the
 * password. */
#include "etcd/connect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"

#define PASSWORD_MAX_BYTES 4096
/* Who has named no file wonders whose this is. */
#define NOT_NAMED                                                                         \
	" (the default, as kubeadm has it; `fairlead init` finds others, or name them in an " \
	"EtcdClientConfig; before `kubeadm init` this is normal)"

/* Does what is wanted with the options: connects (etcd is not NULL), or only checks. */
static int with_options(struct ev_loop *ev, const struct etcdconf *config, size_t answer_max_bytes,
                        char error[static ETCD_ERROR_TEXT_MAX], struct etcd **etcd)
{
	AUTO(free) const char **endpoints = xcalloc(config->n_endpoints, sizeof(endpoints[0]));
	AUTO(free) char *password = NULL;
	size_t len;
	int r;

	for (size_t i = 0; i < config->n_endpoints; i++)
		endpoints[i] = config->endpoints[i];
	if (config->password_file != NULL) {
		r = file_read(config->password_file, PASSWORD_MAX_BYTES, &password, &len);
		if (r < 0) {
			(void) snprintf(error, ETCD_ERROR_TEXT_MAX, "%s: %s", config->password_file,
			                strerror(-r));
			return r;
		}
		password[strcspn(password, "\r\n")] = '\0';
	}
	struct etcd_options options = {
	    .endpoints = endpoints,
	    .n_endpoints = config->n_endpoints,
	    .ca_file = config->ca_file,
	    .cert_file = config->cert_file,
	    .key_file = config->key_file,
	    .user = config->user,
	    .password = password,
	    .call_timeout_ms = (unsigned) (config->call_timeout_us / US_PER_MS),
	    .hedge_ms = (unsigned) (config->hedge_us / US_PER_MS),
	    .answer_max_bytes = answer_max_bytes,
	    .discover_members = config->discover_members,
	};
	if (etcd != NULL)
		return etcd_new(ev, &options, error, etcd);
	r = etcd_check(&options, error);
	if (r == -ENOENT && config->is_default)
		(void) snprintf(error + strlen(error), ETCD_ERROR_TEXT_MAX - strlen(error), "%s",
		                NOT_NAMED);
	return r;
}

int connect_check(const struct etcdconf *config, conf_message_fn error)
{
	char text[ETCD_ERROR_TEXT_MAX];
	int r;

	r = with_options(NULL, config, 0, text, NULL);
	if (r < 0) {
		AUTO(free) char *message = xasprintf("EtcdClientConfig: %s", text);

		error(message, NULL);
	}
	return r;
}

int connect_etcd(struct ev_loop *ev, const struct etcdconf *config, size_t answer_max_bytes,
                 struct etcd **ret_etcd)
{
	char text[ETCD_ERROR_TEXT_MAX];
	int r;

	r = with_options(ev, config, answer_max_bytes, text, ret_etcd);
	if (r < 0)
		return log_error_errno(r, "etcd_client_failed", "reason=\"%s\"", text);
	if (text[0] != '\0')
		log_warning("etcd_certificates", "reason=\"%s\"", text);
	return 0;
}
