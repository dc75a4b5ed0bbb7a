/* SPDX-License-Identifier: Apache-2.0 */
/* `notify` of EtcdWatchConfig: whom the watchdog tells what it finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mono.h"
#include "etcdwatch/config/config_priv.h"

#define TIMEOUT_US (10 * US_PER_S)
#define RETRY_MAX_US (300 * US_PER_S)
#define GIVE_UP_AFTER_US (86400 * US_PER_S)

void config_set_notify_defaults(struct config_notify *notify)
{
	*notify = (struct config_notify){
	    .timeout_us = TIMEOUT_US,
	    .retry_max_us = RETRY_MAX_US,
	    .give_up_after_us = GIVE_UP_AFTER_US,
	};
}

void config_notify_fini(struct config_notify *notify)
{
	free(notify->url);
	free(notify->url_file);
	free(notify->secret_file);
	free(notify->ca_file);
	free(notify->cert_file);
	free(notify->key_file);
}

static const char *check_url(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                             const char **ret_hint)
{
	struct conf_url url;

	*ret_hint = "such as https://hooks.example.org/etcd";
	return conf_parse_url(text, &url);
}

#define NOTIFY(member) offsetof(struct config_notify, member)
const struct conf_field config_notify_fields[] = {
    {.key = "url",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = NOTIFY(url),
     .check = check_url},
    {.key = "urlFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = NOTIFY(url_file),
     .check = conf_check_file},
    {.key = "secretFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = NOTIFY(secret_file),
     .check = conf_check_file},
    {.key = "secret",
     .flags = CONF_REFUSED,
     .refusal = "a secret does not belong here, write it into a file and name that in secretFile"},
    {.key = "caFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = NOTIFY(ca_file),
     .check = conf_check_file},
    {.key = "certFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = NOTIFY(cert_file),
     .check = conf_check_file},
    {.key = "keyFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = NOTIFY(key_file),
     .check = conf_check_file},
    {.key = "timeout",
     .set = conf_set_duration,
     .offset = NOTIFY(timeout_us),
     .min = US_PER_S,
     .max = 120 * US_PER_S},
    {.key = "retryMax",
     .set = conf_set_duration,
     .offset = NOTIFY(retry_max_us),
     .min = US_PER_S,
     .max = 3600 * US_PER_S},
    {.key = "giveUpAfter",
     .set = conf_set_duration,
     .offset = NOTIFY(give_up_after_us),
     .min = 60 * US_PER_S,
     .max = 7 * 86400 * US_PER_S},
    {0},
};

void config_set_notify(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_notify *notify = slot;
	bool has_url, has_file, has_cert, has_key;

	conf_read_map(conf, value, field->fields, notify);
	if (value->shape != CONF_MAP)
		return;
	has_url = conf_node_find(value, "url") != NULL;
	has_file = conf_node_find(value, "urlFile") != NULL;
	has_cert = conf_node_find(value, "certFile") != NULL;
	has_key = conf_node_find(value, "keyFile") != NULL;
	if (has_url == has_file)
		conf_error(conf, value, "one of the two",
		           has_url ? "has url and urlFile" : "has neither url nor urlFile");
	if (has_cert != has_key)
		conf_error(conf, value, "a certificate goes with its key", "%s is missing",
		           has_cert ? "keyFile" : "certFile");
}

bool config_notify_is_on(const struct config_notify *notify)
{
	return notify->url != NULL || notify->url_file != NULL;
}

static void print_if_set(FILE *out, const char *key, const char *value)
{
	if (value != NULL)
		conf_print_string(out, key, value);
}

void config_print_notify(FILE *out, const struct config_notify *notify)
{
	if (!config_notify_is_on(notify))
		return;
	(void) fputs("notify:\n", out);
	print_if_set(out, "  url", notify->url);
	print_if_set(out, "  urlFile", notify->url_file);
	print_if_set(out, "  secretFile", notify->secret_file);
	print_if_set(out, "  caFile", notify->ca_file);
	print_if_set(out, "  certFile", notify->cert_file);
	print_if_set(out, "  keyFile", notify->key_file);
	conf_print_duration(out, "  timeout", notify->timeout_us);
	conf_print_duration(out, "  retryMax", notify->retry_max_us);
	conf_print_duration(out, "  giveUpAfter", notify->give_up_after_us);
}
