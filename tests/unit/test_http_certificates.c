/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the HTTP client believes, and as whom it speaks: keys and certificates in files and not,
 * wrong ones, and ones that rotate. */
#include "tests/unit/httpworld.h"
#include "web/certificate.h"

static char *read_text(const char *path)
{
	char *text = NULL;
	size_t len;

	CHECK_EQ_INT(file_read(path, 1 << 20, &text, &len), 0);
	return text;
}

/* Contents instead of files, and each wins over its file. */
static void test_inline(void)
{
	AUTO(free) char *url = url_of("/echo");
	AUTO(free) char *ca = read_text(ca_file);
	AUTO(free) char *other = read_text(other_file);
	AUTO(free) char *cert = read_text(cert_file);
	AUTO(free) char *key = read_text(key_file);
	struct http_request request = request_to(url);
	struct answer a = {0};

	request.ca_file = "/nonexistent/ca.crt";
	request.ca_pem = ca;
	request.client_cert_pem = cert;
	request.client_key_pem = key;
	request.bearer_token_file = "/nonexistent/token";
	request.bearer_token = "inline";
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes|Bearer inline|CN=prober");
	request.ca_file = ca_file;
	request.ca_pem = other;
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	answer_fini(&a);
}

/* Files that hold something else than they should: not the peer's fault. */
static void test_bad_files(void)
{
	AUTO(free) char *url = url_of("/echo");
	AUTO(free) char *junk = xasprintf("%s/junk", server.dir);
	AUTO(free) char *empty = xasprintf("%s/empty", server.dir);
	AUTO(free) char *fifo = xasprintf("%s/fifo", server.dir); /* nobody writes into it */
	struct {
		const char *ca_file, *cert_file, *key_file;
		const char *named;
	} cases[] = {
	    {junk, NULL, NULL, junk},
	    {empty, NULL, NULL, empty},
	    {server.dir, NULL, NULL, server.dir},
	    {"/nonexistent", NULL, NULL, "/nonexistent"},
	    {fifo, NULL, NULL, fifo},
	    {ca_file, fifo, key_file, fifo},
	    {ca_file, cert_file, fifo, cert_file},
	    {ca_file, junk, key_file, junk},
	    {ca_file, "/nonexistent", key_file, "/nonexistent"},
	    {ca_file, cert_file, junk, cert_file},
	    {ca_file, cert_file, empty, cert_file},
	    {ca_file, cert_file, "/nonexistent", cert_file},
	    {ca_file, ca_file, key_file, ca_file}, /* does not belong together */
	};

	CHECK_EQ_INT(file_write_atomic(junk, "junk\n", 5, 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(mkfifo(fifo, 0600), 0);
	CHECK_EQ_INT(file_write_atomic(empty, "", 0, 0600, FILE_VOLATILE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_request request = request_to(url);
		struct answer a = {0};

		request.ca_file = cases[i].ca_file;
		request.client_cert_file = cases[i].cert_file;
		request.client_key_file = cases[i].key_file;
		fetch(&request, &a);
		CHECK_EQ_STR(http_failure_name(a.failure), "tls");
		if (!CHECK(a.text != NULL && strstr(a.text, cases[i].named) != NULL))
			(void) fprintf(stderr, "  case %zu: %s\n", i, a.text);
		answer_fini(&a);
	}
}

static void test_server_name(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/echo", server.port);
	struct http_request request = request_to(url);
	struct answer a = {0};

	request.connect_to = (struct addr){0};
	request.server_name = "kubernetes";
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||");
	request.server_name = "stranger";
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	request.server_name = NULL;
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	answer_fini(&a);
}

/* The name to verify may be an address. */
static void test_server_address(void)
{
	static const char *const names[] = {"127.0.0.1", "::1", "10.0.0.5", "fd00::5", "fd00::6"};
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d/echo", server.port + 1);
	struct http_request request = request_to(url);
	struct answer a = {0};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		request.server_name = names[i];
		fetch(&request, &a);
		CHECK_EQ_STR(http_failure_name(a.failure), i == 4 ? "tls-peer" : "ok");
	}
	answer_fini(&a);
}

/* What cannot be sent is refused at once. */

/* --- certificates that rotate --- */

static void copy(const char *from, const char *to)
{
	nginx_shell(&server, "cp %s tmp && mv tmp %s", from, to);
}

/* The same file names and the same server all along: what is on disk now decides, also where a kept
 * connection would do without. */
static void test_rotation_kept(void)
{
	AUTO(free) char *url = url_of("/echo");
	struct http_request request = request_to(url);
	struct answer a = {0}, connection = {0};

	copy("ca.crt", "ca.saved");
	request.client_cert_file = cert_file;
	request.client_key_file = key_file;
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||CN=prober");
	fetch_path("/connection", &connection);

	copy("other.crt", "ca.crt");
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	copy("ca.saved", "ca.crt");
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||CN=prober");
	/* Equal bytes are equal: the old connection serves again. */
	fetch_path("/connection", &a);
	CHECK_EQ_STR(a.body, connection.body);

	nginx_make_cert(&server, "ca", "renewed", "renewed");
	copy("renewed.crt", "client.crt");
	copy("renewed.key", "client.key");
	fetch(&request, &a);
	CHECK_EQ_STR(a.body, "GET|kubernetes||CN=renewed");
	answer_fini(&a);
	answer_fini(&connection);
}

/* The same file names all along; nobody but the server restarts. */
static void test_rotation(void)
{
	struct answer a = {0};

	fetch_path("/readyz", &a);
	CHECK_EQ_INT(a.failure, HTTP_OK);

	/* The server's certificate comes from a new CA, which our file does not hold yet. */
	nginx_make_ca(&server, "new");
	nginx_make_cert(&server, "new", "server", "kubernetes");
	nginx_stop(&server);
	nginx_start(&server, "location / { return 200 new; }");
	fetch_path("/readyz", &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	nginx_shell(&server, "cat new.crt >>ca.crt");
	fetch_path("/readyz", &a);
	CHECK_EQ_INT(a.failure, HTTP_OK);
	CHECK_EQ_STR(a.body, "new");

	/* And the old CA leaves: a new connection sees that too. */
	nginx_shell(&server, "cp other.crt ca.crt");
	nginx_stop(&server);
	nginx_start(&server, "location / { return 200 new; }");
	fetch_path("/readyz", &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	answer_fini(&a);
}

/* Each time anew; and nothing where it is not asked for. */
static void test_peer(void)
{
	AUTO(free) char *path = xasprintf("%s/server.crt", server.dir);
	AUTO(free) char *url = url_of("/readyz");
	struct http_request request = request_to(url);
	int64_t end_s = 0;
	struct answer a = {0};

	CHECK_EQ_INT(certificate_file_end(path, &end_s), 0);
	CHECK(end_s > wall_now_us() / US_PER_S + 86400 &&
	      end_s <= wall_now_us() / US_PER_S + 2 * 86400);
	fetch(&request, &a);
	CHECK_EQ_INT(a.peer.date_s, 0);
	CHECK_EQ_INT(a.peer.not_after_s, 0);
	request.tell_peer = true;
	for (int i = 0; i < 2; i++) {
		fetch(&request, &a);
		CHECK_EQ_INT(a.peer.not_after_s, end_s);
		/* It is this machine's own clock, in whole seconds. */
		CHECK(a.peer.date_s * US_PER_S <= a.peer.date_seen_us);
		CHECK((a.peer.date_s + 2) * US_PER_S > a.peer.date_seen_us - a.request_us);
	}
	/* One that is not accepted is seen all the same. */
	request.ca_file = other_file;
	fetch(&request, &a);
	CHECK_EQ_STR(http_failure_name(a.failure), "tls-peer");
	CHECK_EQ_INT(a.peer.not_after_s, end_s);
	CHECK_EQ_INT(a.peer.date_s, 0);
	request.tell_peer = false;
	fetch(&request, &a);
	CHECK_EQ_INT(a.peer.not_after_s, 0);
	answer_fini(&a);
}

/* A chain counts by the first of it that ends. */
static void test_certificate_files(void)
{
	AUTO(free) char *chain = xasprintf("%s/chain.pem", server.dir);
	AUTO(free) char *key = xasprintf("%s/server.key", server.dir);
	AUTO(free) char *bad = xasprintf("%s/bad.pem", server.dir);
	int64_t end_s = 0, ca_s = 0;

	nginx_shell(&server,
	            "openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 "
	            "-out short.crt && cat ca.crt server.key short.crt >chain.pem && "
	            "{ cat ca.crt; head -n 3 server.crt; } >bad.pem");
	CHECK_EQ_INT(certificate_file_end(ca_file, &ca_s), 0);
	CHECK_EQ_INT(certificate_file_end(chain, &end_s), 0);
	CHECK(end_s < ca_s - 80000);
	CHECK_EQ_INT(certificate_file_end(key, &end_s), -ENODATA);
	CHECK_EQ_INT(certificate_file_end(bad, &end_s), -EBADMSG);
	CHECK_EQ_INT(certificate_file_end("/nonexistent", &end_s), -ENOENT);
}

int main(void)
{
	static void (*const tests[])(void) = {
	    test_bad_files,      test_inline,   test_server_name,
	    test_server_address, test_peer,     test_certificate_files,
	    test_rotation_kept,  test_rotation,
	};

	return http_test(tests, ARRAY_SIZE(tests));
}
