/* SPDX-License-Identifier: Apache-2.0 */
/* `prism-probe --sign` against a real web server that answers as an API server does. */
#include "prism/probe/signing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"

#define COLLECTION "/apis/certificates.k8s.io/v1/certificatesigningrequests"
#define POSTED "location = " COLLECTION " { return 201 '{\"metadata\":{\"name\":\"probe-1\"}}'; }\n"
#define STATUS(text) "location = " COLLECTION "/probe-1 { return 200 '{\"status\":" text "}'; }"

static struct nginx server;

/* In a child: what it prints is what is asked for. */
static int sign(const char *kubeconfig, const char *request, char **ret_out, char **ret_err)
{
	AUTO(free) char *out = xasprintf("%s/out", server.dir);
	AUTO(free) char *err = xasprintf("%s/err", server.dir);
	int status = 0;
	size_t len;
	pid_t pid = fork();

	if (pid == 0) {
		(void) !freopen(out, "w", stdout);
		(void) !freopen(err, "w", stderr);
		exit(signing_run(kubeconfig, request));
	}
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK_EQ_INT(file_read(out, 65536, ret_out, &len), 0);
	CHECK_EQ_INT(file_read(err, 65536, ret_err, &len), 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *write_kubeconfig(const char *at)
{
	char *path = xasprintf("%s/kubeconfig", server.dir);
	AUTO(free)
	char *text = xasprintf("current-context: c\n"
	                       "clusters: [{name: k, cluster: {server: '%s', "
	                       "certificate-authority: ca.crt, tls-server-name: kubernetes}}]\n"
	                       "users: [{name: u, user: {token: t}}]\n"
	                       "contexts: [{name: c, context: {cluster: k, user: u}}]\n",
	                       at);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
	return path;
}

static void test_answers(void)
{
	static const struct {
		const char *directives;
		int code;
		const char *out, *err; /* err: its last words */
	} cases[] = {
	    {POSTED STATUS("{\"certificate\":\"UEVNCg==\"}"), 0, "PEM\n",
	     "An administrator approves that:\n  kubectl certificate approve probe-1\n"},
	    {POSTED STATUS("{\"conditions\":[{\"type\":\"Denied\",\"message\":\"no\"}]}"), 1, "",
	     "fairlead: probe-1: Denied: no\n"},
	    {POSTED STATUS("{\"conditions\":[{\"type\":\"Approved\"},{\"type\":\"Failed\"}]}"), 1, "",
	     "fairlead: probe-1: Failed: \n"},
	    {POSTED STATUS("{\"certificate\":\"***\"}"), 1, "",
	     "fairlead: probe-1: its certificate is not base64 of a text\n"},
	    {POSTED "location / { return 404 '{\"message\":\"gone\"}'; }", 1, "",
	     "fairlead: the API server answers 404: gone\n"},
	    {"location / { return 403 '{\"message\":\"u may not create\"}'; }", 1, "",
	     "fairlead: the API server answers 403: u may not create\n"},
	    {"location / { return 201 '{\"metadata\":{\"name\":\"a b\"}}'; }", 1, "",
	     "fairlead: the API server's answer has no name of the request: a b\n"},
	    {"location / { return 201 'no JSON'; }", 1, "",
	     "fairlead: the API server's answer has no name of the request: \n"},
	};
	AUTO(free) char *request = xasprintf("%s/request", server.dir);
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d", server.port);
	AUTO(free) char *kubeconfig = write_kubeconfig(url);

	CHECK_EQ_INT(file_write_atomic(request, "CSR", 3, 0600, FILE_VOLATILE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *out = NULL;
		AUTO(free) char *err = NULL;
		const char *end;

		nginx_start(&server, cases[i].directives);
		CHECK_EQ_INT(sign(kubeconfig, request, &out, &err), cases[i].code);
		end = strlen(err) > strlen(cases[i].err) ? err + strlen(err) - strlen(cases[i].err) : err;
		if (!CHECK_EQ_STR(out, cases[i].out) || !CHECK_EQ_STR(end, cases[i].err))
			(void) fprintf(stderr, "  case %zu\n", i);
		nginx_stop(&server);
	}
}

/* It is posted, by the user of the kubeconfig. */
static void test_request(void)
{
	AUTO(free) char *request = xasprintf("%s/request", server.dir);
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/", server.port);
	AUTO(free) char *kubeconfig = write_kubeconfig(url);
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;

	nginx_start(&server,
	            "location = " COLLECTION
	            " { return 403 '{\"message\":\"$request_method $http_authorization\"}'; }");
	CHECK_EQ_INT(sign(kubeconfig, request, &out, &err), 1);
	CHECK_EQ_STR(err, "fairlead: the API server answers 403: POST Bearer t\n");
	nginx_stop(&server);
}

/* Nothing leaves where the files are of no use. */
static void test_files(void)
{
	static const char *const urls[] = {"http://127.0.0.1:1", "https://no-such-host.invalid:6443"};
	AUTO(free) char *request = xasprintf("%s/request", server.dir);

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		AUTO(free) char *kubeconfig = write_kubeconfig(urls[i]);
		AUTO(free) char *out = NULL;
		AUTO(free) char *err = NULL;

		CHECK_EQ_INT(sign(kubeconfig, request, &out, &err), 1);
		CHECK(strncmp(err, "fairlead: kubeconfig ", 21) == 0);
	}
}

int main(void)
{
	nginx_init(&server);
	test_answers();
	test_request();
	test_files();
	nginx_fini(&server);
	return check_result();
}
