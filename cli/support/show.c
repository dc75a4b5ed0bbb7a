/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields, events and metrics are those of docs/control.md, docs/events.md and docs/metrics.md
 * (shown.awk): one that is not documented is not shown. A key of the configuration is shown if it
 * is in the list below, which has none that holds a secret, a command or a text of the user's.
 *
 * A value that is one word of harmless characters is shown. In a sentence of ours (`reason`) stands
 * what others said as well: quoted, behind an option, as a URL, as NAME=VALUE, as USER:PASSWORD or
 * behind a word such as "password", and none of that is shown.
 */
#include "cli/support/show.h"

#include <assert.h>
#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/macro.h"
#include "base/mem.h"

struct shown {
	const char *name, *members; /* of an event its fields, of a metric its labels */
};

#include "cli/support/shown.h" /* shown_fields, shown_events, shown_metrics */

/* Values of these are names, addresses, numbers, words of a choice and names of files. */
static const char config_keys[] =
    " acceptedCAs accessKeyFile action adActorSysPrio adActorSystem address addresses"
    " adLACPActive adopt adSelect adUserPortKey advertise after algorithm aliases allowedIPs"
    " allSlavesActive announce apiPort apiServer apiTokenFile apiVersion arpAllTargets"
    " arpInterval arpIPTarget arpIpTargets arpValidate auto avoidEtcdLeader balancers bfd bond"
    " bondMode bootTimeout bridge bridgePort bucket budget busPath caFile callTimeout catchUp"
    " certFile certificates channels cidr clientCertFile clientIdentifier clientKeyFile cluster"
    " combined compareBetween compareEvery compression confirmWithin conflict connect container"
    " controlPlane credentials credentialsFile customerKeyFile daily dataDirectory deadline"
    " defrag destination destinationAddresses destinations destroySockets device devices"
    " deviceSelector deviceSelectors dhcp dhcpOptions directory disabled disableSearchDomain"
    " discoverMembers downdelay drain drift drill driver dst duidRaw duidv6 dummy duplicates"
    " enabled encryption endpoint endpoints endpointSlices etcd etcdutl etcdwatch extraFiles"
    " extraHostEntries failOverMac failureThreshold fall family features fence fenceWindow fight"
    " file filtering firewallMark from fwMark fwMask gateway gateways giveUpAfter gro"
    " halfCloseTimeout hardwareAddr hashEvery hashKV hcloud healthCheck hedgeDelay here hold"
    " holdDown hostDNS hostname hostnames hourly identityFile idle idleTimeout ignore"
    " ignoreHostname ignoreLinks iifName instanceRole interface interfaces interval io ip ipv4"
    " ipv6 jitter job jumbo keep keyFile kind kubeconfig kubePrism lacpRate last leaseTTL len"
    " level limits link links listen listenPort local localAPIServerPort localASN lpInterval"
    " machine master maxAge maxConnections maxSize members metadata metric metrics miimon"
    " minFree mini minLinks minSize missedMax mode monthly mtu multicast name nameservers"
    " neighbors netconf network nodeIP noProgress notify nsIp6Targets ntp numPeerNotif oifName"
    " onlink options other outsideCheck ownership packetsPerSlave params parent passwordFile"
    " path pathStyle pciID peer peerNotifDelay peerNotifyDelay peers permanentAddr"
    " persistentKeepaliveInterval physical port ports portSelector preempt prefix"
    " presharedKeyFile primary primaryReselect priority prism privateKeyFile probes protocol"
    " proxy ptp publicKey quickInterval rack recipients recipientsFile record recoverSpace"
    " refresh region repeats replayBytes replayTimeout requireUniqueMatch resendIGMP resendIgmp"
    " reserve resolveMemberNames retention retryMax rewrites rings rise roleARN routeMetric"
    " routePriority routes rules rx schedule searchDomains secretFile secretKeyFile segmentation"
    " selector server serverID serverName servers serverSideEncryption service sessionName"
    " sessionTokenFile size skipAliasedLinks socket source sourceAddress split spread src"
    " stableHostname stateDir static stp subnet subnets suspectInterval table taker target"
    " targets time timeout timeZone tlbDynamicLb tlbLogicalLb tlsServerName to tokenFile"
    " trustedKeys tx type up updelay uploadEvery upstreams url urlFile useCarrier useNTS user"
    " validSubnets verify vip vipd vlan vlanFiltering vlanID vlanId vlanMode vlans wakeOnLan"
    " webIdentity weekly whenDown window wireguard xmitHashPolicy"
    " ";

/* Texts of ip(8) and bridge(8) that programs and the kernel choose from a few. */
static const char kernel_fields[] =
    " addr_type address addr broadcast dev dst family flags from gateway group ifname iif "
    "info_kind info_slave_kind inet6_addr_gen_mode label link link_type linkinfo lladdr local "
    "master metrics mode name netns nhid oif operstate parentbus parentdev permaddr phys_port_name "
    "prefsrc protocol qdisc scope src state table to type via xmit_hash_policy ad_select "
    "pref mac linkmode lacp_rate lacp_active primary_reselect arp_validate arp_all_targets "
    "fail_over_mac mii_status "
    "perm_hwaddr port_id slave_state action altnames ";

/* What systemd is known to say of a unit, and the kernel at a warning. */
static const char log_sentences[] =
    "^(fairlead[a-z@-]*\\.service|Star|Stopp|Reload|Deactivat|Main process|Scheduled restart|"
    "Failed (with result|to start)|Start request repeated|Watchdog timeout|Consumed)"
    "[A-Za-z0-9 .:,()/_-]*((code|status)=[a-zA-Z0-9/]+[, ]*)*[A-Za-z0-9 .:,()/_'-]*$|"
    "^[A-Za-z0-9_ .:()/@-]*([Ll]ink (is|status|becomes)|I/O error|[Oo]ut of memory|blocked for "
    "more than|clocksource|lockup|NETDEV WATCHDOG|stall|timed out)[A-Za-z0-9_ .:,()/%@-]*$";
static const char log_heads[] =
    "^[0-9][0-9T:.+-]+ [A-Za-z0-9._-]+ [A-Za-z0-9._()-]+(\\[[0-9]+\\])?: ";

#define METRIC_VALUE "0123456789.eE+-infaNI"
#define SCHEDULE "0123456789*/,- "
#define RANDOM_BYTES 16
#define RANDOM_CAPITALS_BYTES 20 /* AWS's names of keys */
/* "abcdef.0123456789abcdef", with which nodes join a cluster. */
#define BOOTSTRAP_ID_BYTES 6
#define BOOTSTRAP_TOKEN_BYTES 23

/* --- lists --- */

static bool has_word(const char *words, const char *word, size_t len)
{
	if (len == 0 || memchr(word, ' ', len) != NULL)
		return false;
	for (const char *p = words; (p = memmem(p, strlen(p), word, len)) != NULL; p++) {
		if (p > words && p[-1] == ' ' && p[len] == ' ')
			return true;
	}
	return false;
}

static const struct shown *find(const struct shown *list, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(list[i].name, name, len) == 0 && list[i].name[len] == '\0')
			return &list[i];
	}
	return NULL;
}

static char *hidden(const char *type, size_t len, const char *unit, size_t *n_hidden)
{
	++*n_hidden;
	return xasprintf("<%s, %zu %s>", type, len, unit);
}

static void put_hidden(FILE *out, const char *type, size_t len, size_t *n_hidden)
{
	AUTO(free) char *text = hidden(type, len, "bytes", n_hidden);

	(void) fputs(text, out);
}

/* --- values --- */

/* A run of letters of both cases and digits, or a long one of capitals and digits: a key, a token.
 */
static bool looks_random(const char *word, size_t len)
{
	bool upper = false, lower = false, digit = false;
	size_t run = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char) word[i];

		if (isalnum(c) == 0)
			run = upper = lower = digit = 0;
		else
			run++;
		upper |= isupper(c) != 0;
		lower |= islower(c) != 0;
		digit |= isdigit(c) != 0;
		if (upper && digit && run >= (lower ? RANDOM_BYTES : RANDOM_CAPITALS_BYTES))
			return true;
		if (len == BOOTSTRAP_TOKEN_BYTES && word[BOOTSTRAP_ID_BYTES] == '.' && digit && !upper &&
		    run == len - BOOTSTRAP_ID_BYTES - 1)
			return true;
	}
	return false;
}

static bool is_harmless(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char) word[i]) && strchr("._:/%+,*[]()-;~", word[i]) == NULL &&
		    (i > 0 || word[i] != '@'))
			return false;
	}
	return word[0] != '-' || len == 1 || isdigit((unsigned char) word[1]);
}

/* Of a URL who is asked, and not who asks for what. */
static bool put_url(FILE *out, const char *word, size_t len, size_t *n_hidden)
{
	const char *host = memmem(word, len, "://", 3);
	const char *at;
	size_t n;

	if (host == NULL)
		return false;
	host += 3;
	n = strcspn(host, "/?#");
	n = MIN(n, (size_t) (word + len - host));
	at = memrchr(host, '@', (size_t) (word + len - host));
	/* One behind the host's end may end a password that has a '/'. */
	if ((at != NULL && at >= host + n) || !is_harmless(word, (size_t) (host - word)) ||
	    (at == NULL && !is_harmless(host, n)))
		return false;
	(void) fprintf(out, "%.*s", (int) (host - word), word);
	if (at != NULL) {
		put_hidden(out, "user", (size_t) (at - host), n_hidden);
		n -= (size_t) (at - host);
		host = at;
	}
	(void) fprintf(out, "%.*s", (int) n, host);
	if (host + n + 1 < word + len)
		put_hidden(out, "path", (size_t) (word + len - host) - n, n_hidden);
	return true;
}

static void put_word(FILE *out, const char *word, size_t len, size_t *n_hidden)
{
	if (put_url(out, word, len, n_hidden))
		return;
	if (is_harmless(word, len) && !looks_random(word, len))
		(void) fprintf(out, "%.*s", (int) len, word);
	else
		put_hidden(out, "string", len, n_hidden);
}

/* The quotes of `p`, or the option there and all that follows it: how long that is; 0: neither. */
static size_t foreign_len(const char *p)
{
	const char *end;

	if (*p == '-' && isalpha((unsigned char) p[p[1] == '-' ? 2 : 1]))
		return strlen(p);
	if (strchr("'\"`", *p) == NULL)
		return 0;
	end = strchr(p + 1, *p);
	return end != NULL ? (size_t) (end + 1 - p) : strlen(p);
}

/* "password:", "Bearer": a secret may follow. A path only names a file. */
static bool announces_secret(const char *word, size_t len)
{
	static const char *const parts[] = {"passw",  "passphrase", "secret",        "token", "apikey",
	                                    "cookie", "credential", "authorization", "bearer"};
	static const char before_colon[] = " pass pwd pw pin psk salt key auth ";

	if (memchr(word, '/', len) != NULL)
		return false;
	for (size_t i = 0; i < len; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(parts); j++) {
			if (len - i >= strlen(parts[j]) &&
			    strncasecmp(word + i, parts[j], strlen(parts[j])) == 0)
				return true;
		}
	}
	return len > 0 && word[len - 1] == ':' && has_word(before_colon, word, len - 1);
}

/* USER:PASSWORD, and neither an address, HOST:PORT, FILE:LINE nor a time. */
static bool is_login(const char *word, size_t len)
{
	const char *percent = memchr(word, '%', len), *colon = memchr(word, ':', len);
	size_t n = percent != NULL ? (size_t) (percent - word) : len;

	if (colon == NULL || isdigit((unsigned char) word[0]) ||
	    strspn(word, "0123456789abcdefABCDEF:./[](),;") >= n)
		return false;
	return (size_t) (colon - word) + strspn(colon, "0123456789.:,;)") < len;
}

static void put_sentence(FILE *out, const char *text, size_t *n_hidden)
{
	bool is_one_word = strchr(text, ' ') == NULL, follows = false;

	for (const char *p = text; *p != '\0';) {
		size_t len = follows ? strlen(p) : foreign_len(p);

		if (len > 0) {
			put_hidden(out, "string", len, n_hidden);
		} else {
			len = strcspn(p, " ");
			/* "n1's" */
			for (size_t i = 1; i < len; i++) {
				if (strchr("'\"`", p[i]) != NULL && !isalnum((unsigned char) p[i - 1]))
					len = i;
			}
			follows = announces_secret(p, len);
			if (len > 2 && p[len - 2] == '\'' && p[len - 1] == 's')
				(void) (put_word(out, p, len - 2, n_hidden), fputs("'s", out));
			else if (!is_one_word && is_login(p, len) && memmem(p, len, "://", 3) == NULL)
				put_hidden(out, "string", len, n_hidden);
			else if (len > 0)
				put_word(out, p, len, n_hidden);
		}
		p += len;
		if (*p == ' ')
			(void) fputc(*p++, out);
	}
}

char *show_sentence(const char *text, size_t *n_hidden)
{
	char *result = NULL;
	size_t len;
	FILE *out = xmemstream_open(&result, &len);

	put_sentence(out, text, n_hidden);
	xmemstream_close(out);
	return result;
}

/* --- JSON --- */

struct walk {
	bool is_kernel;
	size_t *n_hidden;
};

static json_t *show_json(const struct walk *walk, const json_t *json, const char *field);

static bool is_known(const struct walk *walk, const char *key, const json_t *value)
{
	if (walk->is_kernel)
		return !json_is_string(value) || has_word(kernel_fields, key, strlen(key));
	return find(shown_fields, ARRAY_SIZE(shown_fields), key, strlen(key)) != NULL;
}

static json_t *hide_json(const json_t *json, size_t *n_hidden)
{
	AUTO(free) char *number = json_is_number(json) ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
	AUTO(free)
	char *text = json_is_object(json)  ? hidden("map", json_object_size(json), "keys", n_hidden)
	             : json_is_array(json) ? hidden("list", json_array_size(json), "items", n_hidden)
	             : number != NULL      ? hidden("number", strlen(number), "bytes", n_hidden)
	             : json_is_boolean(json)
	                 ? hidden("boolean", 1, "bit", n_hidden)
	                 : hidden("string", json_string_length(json), "bytes", n_hidden);

	return json_is_null(json) ? json_null() : json_string(text);
}

static json_t *show_object(const struct walk *walk, const json_t *object)
{
	json_t *shown = json_object(), *value;
	const char *key;

	json_object_foreach((json_t *) (uintptr_t) object, key, value)
	{
		if (is_known(walk, key, value) && is_harmless(key, strlen(key))) {
			(void) json_object_set_new(shown, key, show_json(walk, value, key));
		} else {
			AUTO(free) char *name = hidden("key", strlen(key), "bytes", walk->n_hidden);
			AUTO(free) char *numbered = xasprintf("%zu %s", json_object_size(shown), name);

			(void) json_object_set_new(shown, numbered, hide_json(value, walk->n_hidden));
		}
	}
	return shown;
}

/* Below the known `field`. */
static json_t *show_json(const struct walk *walk, const json_t *json, const char *field)
{
	AUTO(free) char *text = NULL;
	json_t *shown, *item;
	size_t i;

	if (json_is_object(json))
		return show_object(walk, json);
	if (json_is_array(json)) {
		shown = json_array();
		json_array_foreach(json, i, item)(void) json_array_append_new(
		    shown, is_known(walk, field, item) ? show_json(walk, item, field)
		                                       : hide_json(item, walk->n_hidden));
		return shown;
	}
	/* Advice is ours from the first word to the last. */
	if (!json_is_string(json) || (!walk->is_kernel && strcmp(field, "to_do") == 0))
		return json_incref((json_t *) (uintptr_t) json);
	text = show_sentence(json_string_value(json), walk->n_hidden);
	return json_string(text);
}

json_t *show_answer(const json_t *objects, size_t *n_hidden)
{
	const struct walk walk = {.n_hidden = n_hidden};
	json_t *shown = json_array(), *item;
	size_t i;

	json_array_foreach(objects, i, item)(void)
	    json_array_append_new(shown, show_json(&walk, item, ""));
	return shown;
}

static void put_kernel(FILE *out, const char *text, size_t len, size_t *n_hidden)
{
	const struct walk walk = {.is_kernel = true, .n_hidden = n_hidden};
	json_t *json = json_loadb(text, len, 0, NULL);
	json_t *shown = json != NULL ? show_json(&walk, json, "") : NULL;

	if (shown != NULL)
		(void) json_dumpf(shown, out, JSON_INDENT(1));
	else
		put_hidden(out, "text", len, n_hidden);
	(void) fputc('\n', out);
	json_decref(json);
	json_decref(shown);
}

/* --- the configuration --- */

/* An alias is the node that it stands for: what is hidden somewhere is hidden everywhere. */
struct hiding {
	const struct conf_node **nodes;
	size_t n, size;
	size_t *n_hidden;
};

static bool is_hidden(const struct hiding *hiding, const struct conf_node *node)
{
	for (size_t i = 0; i < hiding->n; i++) {
		if (hiding->nodes[i] == node)
			return true;
	}
	return false;
}

static void hide(struct hiding *hiding, const struct conf_node *node)
{
	if (is_hidden(hiding, node))
		return;
	if (hiding->n == hiding->size) {
		hiding->size = MAX(2 * hiding->size, (size_t) 64);
		hiding->nodes = xreallocarray((void *) hiding->nodes, hiding->size, sizeof(node));
	}
	hiding->nodes[hiding->n++] = node;
	for (size_t i = 0; node->shape != CONF_SCALAR && i < node->n; i++)
		hide(hiding, node->values[i]);
}

static bool is_known_key(const struct conf_node *key)
{
	return has_word(config_keys, key->text, strlen(key->text));
}

static void find_hidden(struct hiding *hiding, const struct conf_node *node)
{
	for (size_t i = 0; node->shape != CONF_SCALAR && i < node->n; i++) {
		if (node->shape == CONF_MAP && !is_known_key(node->keys[i]))
			hide(hiding, node->values[i]);
		else
			find_hidden(hiding, node->values[i]);
	}
}

static void put_node(FILE *out, struct hiding *hiding, const struct conf_node *node, int indent);

/* Behind its key or its "-", on the same line where it is a scalar. */
static void put_inside(FILE *out, struct hiding *hiding, const struct conf_node *node, int indent)
{
	static const char *const types[] = {
	    [CONF_SCALAR] = "string", [CONF_LIST] = "list", [CONF_MAP] = "map"};
	static const char *const units[] = {
	    [CONF_SCALAR] = "bytes", [CONF_LIST] = "items", [CONF_MAP] = "keys"};
	size_t len = node->shape == CONF_SCALAR ? strlen(node->text) : node->n;

	(void) fputc(len == 0 || node->shape == CONF_SCALAR || is_hidden(hiding, node) ? ' ' : '\n',
	             out);
	if (len == 0 && node->shape != CONF_SCALAR) {
		(void) fputs(node->shape == CONF_MAP ? "{}\n" : "[]\n", out);
	} else if (is_hidden(hiding, node)) {
		AUTO(free)
		char *text = hidden(types[node->shape], len, units[node->shape], hiding->n_hidden);

		(void) fprintf(out, "%s\n", text);
	} else if (node->shape != CONF_SCALAR) {
		put_node(out, hiding, node, indent + 2);
	} else {
		if (node->text[strspn(node->text, SCHEDULE)] == '\0')
			(void) fputs(node->text, out);
		else
			put_word(out, node->text, len, hiding->n_hidden);
		(void) fputc('\n', out);
	}
}

/* With the numbers of its lines, as messages name them. */
static void put_node(FILE *out, struct hiding *hiding, const struct conf_node *node, int indent)
{
	if (node->shape == CONF_SCALAR)
		put_inside(out, hiding, node, indent);
	for (size_t i = 0; node->shape != CONF_SCALAR && i < node->n; i++) {
		const struct conf_node *key = node->shape == CONF_MAP ? node->keys[i] : NULL;

		(void) fprintf(out, "%4u %*s", key != NULL ? key->line : node->values[i]->line, indent, "");
		if (key == NULL)
			(void) fputc('-', out);
		else if (is_known_key(key))
			(void) fprintf(out, "%s:", key->text);
		else
			(void) fprintf(out, "<key, %zu bytes>:", strlen(key->text));
		put_inside(out, hiding, node->values[i], indent);
	}
}

static void count_error(const char *message UNUSED, void *userdata)
{
	++*(size_t *) userdata;
}

static void put_config(FILE *out, const char *text, size_t len, size_t *n_hidden)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct conf_node *document;
	struct hiding hiding = {.n_hidden = n_hidden};
	size_t n_errors = 0;

	conf_add_text(conf, "", text, len);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++)
		find_hidden(&hiding, document);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++) {
		(void) fputs(i > 0 ? "     ---\n" : "", out);
		put_node(out, &hiding, document, 0);
	}
	(void) conf_finish(conf, count_error, &n_errors, NULL);
	if (n_errors > 0) {
		put_hidden(out, "not read: text", len, n_hidden);
		(void) fputc('\n', out);
	}
	free((void *) hiding.nodes);
}

/* --- lines --- */

static void put_line(FILE *out, const char *line, size_t *n_hidden)
{
	if (*line != '\0')
		put_hidden(out, "line", strlen(line), n_hidden);
}

/* name=value, name="a value": where it ends; its parts are cut out in place. */
static char *cut_field(char *p, char **ret_value)
{
	char *equals = strchr(p, '=');
	char *end;

	*ret_value = NULL;
	if (equals == NULL || strcspn(p, " \"") < (size_t) (equals - p))
		return p + strlen(p);
	*equals = '\0';
	*ret_value = equals + 1;
	if (equals[1] == '"') {
		++*ret_value;
		end = strchr(*ret_value, '"');
	} else {
		end = strchr(*ret_value, ' ');
	}
	if (end == NULL)
		return *ret_value + strlen(*ret_value);
	*end = '\0';
	return end + 1;
}

static void put_event(FILE *out, char *event, size_t *n_hidden)
{
	size_t len = strcspn(event, " ");
	const struct shown *known = find(shown_events, ARRAY_SIZE(shown_events), event, len);
	char *p = event + len, *value;

	if (known == NULL) {
		put_line(out, event, n_hidden);
		return;
	}
	(void) fprintf(out, "event=%s", known->name);
	while (*(p += strspn(p, " ")) != '\0') {
		char *name = p;

		p = cut_field(p, &value);
		if (value != NULL && has_word(known->members, name, strlen(name))) {
			bool is_sentence = strchr(value, ' ') != NULL;

			(void) fprintf(out, " %s=%s", name, is_sentence ? "\"" : "");
			put_sentence(out, value, n_hidden);
			(void) fputs(is_sentence ? "\"" : "", out);
		} else {
			(void) fputc(' ', out);
			put_hidden(out, "field", strlen(name) + (value != NULL ? strlen(value) : 0), n_hidden);
		}
	}
}

/* Other programs of a unit may begin their lines as systemd and the kernel do. */
static bool is_of_system(const char *head, size_t len)
{
	static const char *const ends[] = {" systemd[1]: ", " kernel: "};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (len > strlen(ends[i]) &&
		    memcmp(head + len - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
			return true;
	}
	return false;
}

static void put_log_line(FILE *out, char *line, const regex_t regexes[static 2], size_t *n_hidden)
{
	regmatch_t head;
	char *rest;

	if (regexec(&regexes[0], line, 1, &head, 0) != 0) {
		put_line(out, line, n_hidden);
		return;
	}
	rest = line + head.rm_eo;
	(void) fprintf(out, "%.*s", (int) head.rm_eo, line);
	if (strncmp(rest, "event=", strlen("event=")) == 0)
		put_event(out, rest + strlen("event="), n_hidden);
	else if (is_of_system(line, (size_t) head.rm_eo) && regexec(&regexes[1], rest, 0, NULL, 0) == 0)
		(void) fputs(rest, out);
	else
		put_line(out, rest, n_hidden);
}

/* fairlead_vipd_owner{vip="10.0.0.5"} 1 */
static void put_sample(FILE *out, char *line, size_t *n_hidden)
{
	static const char *const ends[] = {"", "_bucket", "_sum", "_count"};
	size_t len = strcspn(line, "{ ");
	const struct shown *known = NULL;
	char *value = strrchr(line, ' ');
	char *p = line + len, *label;

	for (size_t i = 0; i < ARRAY_SIZE(ends) && known == NULL; i++) {
		size_t n = strlen(ends[i]);

		if (len > n && memcmp(line + len - n, ends[i], n) == 0)
			known = find(shown_metrics, ARRAY_SIZE(shown_metrics), line, len - n);
	}
	if (known == NULL || value == NULL || value[1 + strspn(value + 1, METRIC_VALUE)] != '\0') {
		put_line(out, line, n_hidden);
		return;
	}
	(void) fprintf(out, "%.*s", (int) len, line);
	for (const char *before = "{"; *p == '{' || *p == ','; before = ",") {
		char *name = ++p;

		p = cut_field(p, &label);
		(void) fputs(before, out);
		if (label != NULL &&
		    (has_word(known->members, name, strlen(name)) || strcmp(name, "le") == 0)) {
			(void) fprintf(out, "%s=\"", name);
			put_sentence(out, label, n_hidden);
			(void) fputc('"', out);
		} else {
			put_hidden(out, "label", strlen(name), n_hidden);
		}
	}
	(void) fprintf(out, "%s%s", line[len] == '{' ? "}" : "", value);
}

static void put_lines(FILE *out, enum show_kind kind, const char *pattern, char *text,
                      size_t *n_hidden)
{
	const char *const patterns[2] = {kind == SHOW_LINES ? pattern : log_heads,
	                                 kind == SHOW_LOG ? log_sentences : ""};
	regex_t regexes[2];
	char *line;

	for (size_t i = 0; i < ARRAY_SIZE(regexes); i++) {
		int r = regcomp(&regexes[i], patterns[i], REG_EXTENDED);

		assert(r == 0);
	}
	while ((line = strsep(&text, "\n")) != NULL) {
		if (kind == SHOW_LOG)
			put_log_line(out, line, regexes, n_hidden);
		else if (kind == SHOW_METRICS && line[0] != '#')
			put_sample(out, line, n_hidden);
		else if (kind == SHOW_LINES && regexec(&regexes[0], line, 0, NULL, 0) == 0)
			(void) fputs(line, out);
		else if (kind == SHOW_LINES)
			put_line(out, line, n_hidden);
		if (text != NULL && line[0] != '#')
			(void) fputc('\n', out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(regexes); i++)
		regfree(&regexes[i]);
}

char *show_text(enum show_kind kind, const char *pattern, const char *text, size_t len,
                size_t *n_hidden)
{
	AUTO(free) char *copy = xcalloc(len + 1, 1);
	char *result = NULL;
	size_t result_len;
	FILE *out = xmemstream_open(&result, &result_len);

	for (size_t i = 0; i < len; i++)
		copy[i] = text[i] != '\0' ? text[i] : '?';
	if (kind == SHOW_CONFIG)
		put_config(out, text, len, n_hidden);
	else if (kind == SHOW_KERNEL)
		put_kernel(out, text, len, n_hidden);
	else
		put_lines(out, kind, pattern, copy, n_hidden);
	xmemstream_close(out);
	return result;
}
