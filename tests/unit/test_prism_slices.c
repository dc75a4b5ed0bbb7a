/* SPDX-License-Identifier: Apache-2.0 */
/* EndpointSlices from a real server, where a listener of prism would be: who asks, what comes. */
#include "prism/probe/slices.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"
#include "tests/unit/turn.h"

#define WAIT_US TURN_LIMIT_US
#define INTERVAL_US (50 * US_PER_MS)

static struct ev_loop *ev;
static struct nginx server;
static struct settings settings;
static unsigned n_found;
static char found[256]; /* "10.0.0.5:6443 ", or "error: ..." */

static void on_found(const struct endpoints_list *list, const char *error, void *userdata)
{
	size_t len = 0;

	CHECK(userdata == found && (list == NULL) == (error != NULL));
	n_found++;
	if (list == NULL) {
		(void) snprintf(found, sizeof(found), "error: %s", error);
		return;
	}
	found[0] = '\0';
	for (size_t i = 0; i < list->n; i++) {
		char text[ENDPOINT_TEXT_MAX];

		len += (size_t) snprintf(found + len, sizeof(found) - len, "%s ",
		                         endpoint_format(&list->items[i], text));
	}
}

static void wait_found(unsigned n)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (n_found < n && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK(n_found >= n);
}

/* What is found next, by a look that began after the call. */
static void expect(const char *want)
{
	wait_found(n_found + 2);
	CHECK_EQ_STR(found, want);
}

static void write_file(const char *name, const char *text)
{
	AUTO(free) char *path = xasprintf("%s/%s", server.dir, name);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
}

static void write_kubeconfig(const char *cluster, const char *user)
{
	AUTO(free)
	char *text =
	    xasprintf("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
	              "clusters: [{name: k, cluster: {server: 'https://elsewhere:1'%s}}]\n"
	              "users: [{name: u, user: {%s}}]\n",
	              cluster, user);

	write_file("kubeconfig", text);
}

/* Any file of the directory in base64. */
static char *encoded(const char *name)
{
	AUTO(free) char *path = xasprintf("%s/%s.b64", server.dir, name);
	char *text = NULL;
	size_t len;

	nginx_shell(&server, "base64 -w0 %s >%s.b64", name, name);
	CHECK_EQ_INT(file_read(path, 65536, &text, &len), 0);
	return text;
}

#define BY_CERT "client-certificate: client.crt, client-key: client.key"
#define CA ", certificate-authority: ca.crt"

static void test_identities(void)
{
	AUTO(free) char *ca = encoded("ca.crt");
	AUTO(free) char *cert = encoded("client.crt");
	AUTO(free) char *key = encoded("client.key");
	AUTO(free) char *cluster = xasprintf(", certificate-authority-data: %s", ca);
	AUTO(free)
	char *user = xasprintf("client-certificate-data: %s, client-key-data: %s", cert, key);

	expect("10.0.0.5:6443 10.0.0.6:6443 ");
	/* The same file, with everything inside it. */
	write_kubeconfig(cluster, user);
	expect("10.0.0.5:6443 10.0.0.6:6443 ");
	/* By token: the server gives another list to that one. */
	write_kubeconfig(CA, "token: t0ken");
	expect("[fd00::7]:6443 ");
	write_file("token", "t0ken\n");
	write_kubeconfig(CA, "tokenFile: token");
	expect("[fd00::7]:6443 ");
	write_file("token", "expired\n");
	expect("error: HTTP 401: the kubeconfig's user is not known");
	write_kubeconfig(CA, "token: forbidden");
	expect("error: HTTP 403: the kubeconfig's user may not list endpointslices in default");
	/* Without a CA of its own, it is that of the health checks. */
	write_kubeconfig("", BY_CERT);
	expect("10.0.0.5:6443 10.0.0.6:6443 ");
}

static void test_verified(void)
{
	write_kubeconfig(", certificate-authority: other.crt", BY_CERT);
	expect("error: wrong certificate: SSL certificate problem: unable to get local issuer "
	       "certificate");
	write_kubeconfig(CA ", tls-server-name: stranger", BY_CERT);
	expect("error: wrong certificate: SSL: no alternative certificate subject name matches target "
	       "host name 'stranger'");
	write_kubeconfig(CA ", tls-server-name: kubernetes", BY_CERT);
	expect("10.0.0.5:6443 10.0.0.6:6443 ");
	write_kubeconfig(CA ", insecure-skip-tls-verify: true, tls-server-name: stranger", BY_CERT);
	wait_found(n_found + 2);
	CHECK(strstr(found, "wrong certificate") != NULL);
}

static void test_files(void)
{
	AUTO(free)
	char *gone =
	    xasprintf("error: kubeconfig %s/kubeconfig: No such file or directory", server.dir);
	AUTO(free)
	char *bad = xasprintf("error: kubeconfig %s/kubeconfig: it has no current-context", server.dir);
	AUTO(free)
	char *token =
	    xasprintf("error: kubeconfig %s/kubeconfig: the user's token: Bad message", server.dir);
	AUTO(free)
	char *name = xasprintf(
	    "error: kubeconfig %s/kubeconfig: tls-server-name is not the name of a host", server.dir);

	nginx_shell(&server, "rm kubeconfig");
	expect(gone);
	write_file("kubeconfig", "{}\n");
	expect(bad);
	write_kubeconfig(CA, "token: 'a b'");
	expect(token);
	write_kubeconfig(CA ", tls-server-name: 'a b'", "token: a");
	expect(name);
	write_kubeconfig(CA, BY_CERT);
	expect("10.0.0.5:6443 10.0.0.6:6443 ");
}

static void test_answers(void)
{
	write_kubeconfig(CA, "token: nobody");
	expect("error: no API server is in the EndpointSlices");
	write_kubeconfig(CA, "token: html");
	expect("error: the answer is not JSON");
	write_kubeconfig(CA, "token: huge");
	expect("error: the answer is too long");
	write_kubeconfig(CA, "token: broken");
	expect("error: HTTP 500");
	nginx_stop(&server);
	expect("error: connection refused");
}

static void start(void)
{
	AUTO(free) char *directives = NULL;

	nginx_init(&server);
	nginx_shell(&server, "head -c 300000 /dev/zero | tr '\\0' ' ' >huge");
	/* `return` in the outer block goes by the token; $ssl_client_s_dn by the certificate. */
	directives = xasprintf(
	    "set $who $http_authorization$ssl_client_s_dn;\n"
	    "location = /apis/discovery.k8s.io/v1/namespaces/default/endpointslices {\n"
	    "if ($args != labelSelector=kubernetes.io/service-name=kubernetes) { return 400; }\n"
	    "if ($host != kubernetes) { return 400; }\n"
	    "if ($who = 'CN=prober') { return 200 '{\"items\":[{\"addressType\":\"IPv4\",\"ports\":"
	    "[{\"name\":\"https\",\"port\":6443}],\"endpoints\":[{\"addresses\":[\"10.0.0.5\"]},"
	    "{\"addresses\":[\"10.0.0.6\"],\"conditions\":{\"ready\":true}},"
	    "{\"addresses\":[\"10.0.0.7\"],\"conditions\":{\"ready\":false}}]}]}'; }\n"
	    "if ($who = 'Bearer t0ken') { return 200 '{\"items\":[{\"addressType\":\"IPv6\","
	    "\"ports\":[{\"port\":6443}],\"endpoints\":[{\"addresses\":[\"fd00::7\"]}]}]}'; }\n"
	    "if ($who = 'Bearer forbidden') { return 403; }\n"
	    "if ($who = 'Bearer nobody') { return 200 '{\"items\":[]}'; }\n"
	    "if ($who = 'Bearer html') { return 200 '<html>'; }\n"
	    "if ($who = 'Bearer broken') { return 500; }\n"
	    "if ($who = 'Bearer huge') { rewrite .* /huge last; }\n"
	    "return 401; }\n");
	nginx_start(&server, directives);
}

int main(void)
{
	AUTO(slices_free) struct slices *slices = NULL;

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	start();
	settings = (struct settings){
	    .kubeconfig = xasprintf("%s/kubeconfig", server.dir),
	    .server_name = xstrdup("kubernetes"),
	    .ca_file = xasprintf("%s/ca.crt", server.dir),
	    .slices_interval_us = INTERVAL_US,
	    .through = {.port = (uint16_t) server.port},
	};
	CHECK_EQ_INT(addr_parse("127.0.0.1", &settings.through.addr), 0);
	write_kubeconfig(CA, BY_CERT);
	CHECK_EQ_INT(slices_new(ev, &settings, on_found, found, &slices), 0);
	CHECK_EQ_INT(n_found, 0);
	test_identities();
	test_verified();
	test_files();
	test_answers();
	slices_free(TAKE_PTR(slices));
	n_found = 0;
	turn_for(ev, 3 * INTERVAL_US);
	CHECK_EQ_INT(n_found, 0);
	free(settings.kubeconfig);
	free(settings.server_name);
	free(settings.ca_file);
	nginx_fini(&server);
	ev_loop_destroy(ev);
	return check_result();
}
