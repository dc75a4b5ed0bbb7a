/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every field of an answer has one type and bounds; what is outside of them is no answer, since a
 * process that sends it is not to be believed in anything.
 */
#include "prism/checkermsg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"

/* No request takes longer. */
#define RTT_MAX_US (24 * 3600 * US_PER_S)

static const enum endpoints_source sources[] = {ENDPOINTS_DNS, ENDPOINTS_MEMBERS, ENDPOINTS_SLICES};

/* --- to the probe process --- */

static json_t *text_or_null(const char *text)
{
	return jsonval_text(text != NULL && text[0] != '\0' ? text : NULL);
}

static json_t *endpoint_json(const struct endpoint *endpoint)
{
	char text[ENDPOINT_TEXT_MAX];

	return json_string(endpoint_format(endpoint, text));
}

/* Where a client on this node reaches prism; a listener on every address is on loopback too. */
static json_t *through_json(const struct config *config)
{
	struct endpoint through;

	if (config->n_listen == 0)
		return json_null();
	through = config->listen[0];
	if (addr_is_unspecified(&through.addr))
		(void) addr_parse(through.addr.family == AF_INET6 ? "::1" : "127.0.0.1", &through.addr);
	return endpoint_json(&through);
}

/* Those hosts that are not addresses. */
static json_t *names_json(const struct config_sources *from)
{
	json_t *names = json_array();

	for (size_t i = 0; i < from->n_hosts; i++) {
		const struct config_host *host = &from->hosts[i];
		struct addr addr;

		if (addr_parse(host->name, &addr) < 0)
			(void) json_array_append_new(
			    names, json_pack("{s:s, s:i}", "name", host->name, "port", (int) host->port));
	}
	return names;
}

json_t *checkermsg_settings(const struct config *config, bool debug)
{
	const struct config_health *health = &config->health;
	const struct config_sources *from = &config->sources;
	const int64_t timeout_ms = MAX(health->timeout_us / US_PER_MS, 1);
	const int64_t interval_ms = MAX(from->slices_interval_us / US_PER_MS, 1);

	return json_pack(
	    "{s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:i, s:o}",
	    "type", "settings", "debug", debug, "checks", health->enabled, "path",
	    text_or_null(health->path), "serverName", text_or_null(health->server_name), "caFile",
	    text_or_null(health->ca_file), "clientCertFile", text_or_null(health->client_cert_file),
	    "clientKeyFile", text_or_null(health->client_key_file), "tokenFile",
	    text_or_null(health->token_file), "timeoutMs", (json_int_t) timeout_ms, "kubeconfig",
	    text_or_null(from->kubeconfig), "slicesIntervalMs", (json_int_t) interval_ms, "through",
	    through_json(config), "membersSocket", text_or_null(from->members_socket), "membersFile",
	    text_or_null(from->members_file), "membersPort",
	    (int) (from->members_port != 0 ? from->members_port : 6443), "names", names_json(from));
}

json_t *checkermsg_probe(uint64_t id, const struct endpoint *endpoint)
{
	return json_pack("{s:s, s:I, s:o}", "type", "probe", "id", (json_int_t) id, "endpoint",
	                 endpoint_json(endpoint));
}

json_t *checkermsg_forget(const struct endpoint *endpoint)
{
	return json_pack("{s:s, s:o}", "type", "forget", "endpoint", endpoint_json(endpoint));
}

/* --- from it --- */

static bool evidence_of(const char *verdict, enum judge_evidence *ret_evidence)
{
	if (strcmp(verdict, "connected") == 0) {
		*ret_evidence = JUDGE_PROBE_CONNECTED;
		return true;
	}
	if (strcmp(verdict, "unreached") == 0) {
		*ret_evidence = JUDGE_PROBE_UNREACHED;
		return true;
	}
	if (strcmp(verdict, "stalled") == 0) {
		*ret_evidence = JUDGE_PROBE_STALLED;
		return true;
	}
	for (int v = 0; v < READYZ_N_VERDICTS; v++) {
		if (strcmp(verdict, readyz_verdict_name((enum readyz_verdict) v)) == 0) {
			*ret_evidence = judge_evidence_of((enum readyz_verdict) v);
			return true;
		}
	}
	return false;
}

/* For the log and the terminal: cut, and visible. */
static void take_text(const char *text, char ret_text[static READYZ_REASON_MAX])
{
	(void) snprintf(ret_text, READYZ_REASON_MAX, "%s", text);
	for (char *p = ret_text; *p != '\0'; p++) {
		if (*p < ' ' || *p >= 0x7f)
			*p = '?';
	}
}

static bool take_verdict(const json_t *json, struct checkermsg *m)
{
	const json_t *id = json_object_get(json, "id"), *rtt = json_object_get(json, "rttUs");
	const char *verdict = json_string_value(json_object_get(json, "verdict"));
	const char *reason = json_string_value(json_object_get(json, "reason"));

	if (!json_is_integer(id) || !json_is_integer(rtt) || verdict == NULL || reason == NULL)
		return false;
	m->type = CHECKERMSG_VERDICT;
	m->id = (uint64_t) json_integer_value(id);
	m->rtt_us = json_integer_value(rtt);
	take_text(reason, m->text);
	return m->rtt_us >= 0 && m->rtt_us <= RTT_MAX_US && evidence_of(verdict, &m->evidence);
}

static bool take_list(const json_t *array, struct endpoints_list *list)
{
	size_t n = json_array_size(array);

	if (n == 0 || n > ENDPOINTS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(array, i));

		if (text == NULL || endpoint_parse(text, 0, &list->items[i]) < 0)
			return false;
	}
	list->n = n;
	return true;
}

static bool take_source(const json_t *json, struct checkermsg *m)
{
	const char *source = json_string_value(json_object_get(json, "source"));
	const char *error = json_string_value(json_object_get(json, "error"));
	const json_t *array = json_object_get(json, "endpoints");
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(sources) && source != NULL && !known; i++) {
		known = strcmp(source, endpoints_source_name(sources[i])) == 0;
		m->source = sources[i];
	}
	if (!known)
		return false;
	m->type = array != NULL ? CHECKERMSG_ENDPOINTS : CHECKERMSG_ERROR;
	if (array != NULL)
		return error == NULL && take_list(array, &m->list);
	if (error == NULL || error[0] == '\0')
		return false;
	take_text(error, m->text);
	return true;
}

int checkermsg_parse(const char *data, size_t len, struct checkermsg *ret_message)
{
	json_t *json = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
	const char *type = json_string_value(json_object_get(json, "type"));
	struct checkermsg m = {.id = 0};
	bool good = false;

	if (type != NULL && strcmp(type, "verdict") == 0)
		good = take_verdict(json, &m);
	else if (type != NULL && strcmp(type, "endpoints") == 0)
		good = take_source(json, &m);
	json_decref(json);
	if (!good)
		return -EBADMSG;
	*ret_message = m;
	return 0;
}
