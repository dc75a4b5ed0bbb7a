/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key stays when the certificate is renewed, so that one rename replaces all that changes and
 * no probe sees a key with another key's certificate. A first key is written before its
 * certificate, because the daemons use the two only together.
 */
#include "cli/init/initprobecert.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/probecert.h"
#include "cli/common/cli.h"
#include "cli/common/worker.h"
#include "cli/init/initfiles.h"
#include "cli/init/initsign.h"

#define FILE_BYTES_MAX (1 << 20)
#define DAY_S (24 * 3600)
#define KEY_USER "fairlead-prism" /* vipd reads it by its capability */
#define CERT_FILE PROBECERT_DIRECTORY "/" PROBECERT_CERT
#define KEY_FILE PROBECERT_DIRECTORY "/" PROBECERT_KEY

/* Who signs certificates for clients of the API server. */
static const struct authority {
	const char *cert, *key;
} authorities[] = {
    {"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/ca.key"},
    {"/var/lib/rancher/k3s/server/tls/client-ca.crt",
     "/var/lib/rancher/k3s/server/tls/client-ca.key"},
    {"/var/lib/rancher/rke2/server/tls/client-ca.crt",
     "/var/lib/rancher/rke2/server/tls/client-ca.key"},
};

static const struct authority *find_authority(const char *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(authorities); i++) {
		if (initfiles_exist(root, authorities[i].key))
			return &authorities[i];
	}
	return NULL;
}

static int fail(int r, const char *action, const char *path)
{
	(void) fprintf(stderr, "fairlead: cannot %s '%s': %s%s\n", action, path, strerror(-r),
	               r == -EACCES || r == -EPERM ? ": run this as root" : "");
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

/* --- files --- */

/* CLI_OK, also with NULL where there is no such file. */
static int read_file(const char *root, const char *path, char **ret_text)
{
	AUTO(free) char *at = initfiles_at(root, path);
	size_t len;
	int r;

	*ret_text = NULL;
	r = file_read(at, FILE_BYTES_MAX, ret_text, &len);
	return r < 0 && r != -ENOENT ? fail(r, "read", at) : CLI_OK;
}

static int write_file(const char *at, const char *text, mode_t mode)
{
	int r;

	r = file_write_atomic(at, text, strlen(text), mode, FILE_DURABLE);
	return r < 0 ? fail(r, "write", at) : CLI_OK;
}

static void wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static int make_directories(const char *root)
{
	static const char *const paths[] = {"/etc/fairlead", PROBECERT_DIRECTORY};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO(free) char *at = initfiles_at(root, paths[i]);

		if (mkdir(at, 0755) < 0 && errno != EEXIST)
			return fail(-errno, "make the directory", at);
	}
	return CLI_OK;
}

/* Only its owner reads it: the probes of prism. */
static int give_key(const char *at)
{
	const struct passwd *owner = getpwnam(KEY_USER);

	if (owner == NULL) {
		(void) fprintf(stderr,
		               "note: there is no user %s here, so '%s' is root's: give it to the user "
		               "that prism runs as\n",
		               KEY_USER, at);
		return CLI_OK;
	}
	return chown(at, owner->pw_uid, 0) < 0 ? fail(-errno, "give to " KEY_USER, at) : CLI_OK;
}

static void print_end(const char *what, int64_t end_s)
{
	time_t end = (time_t) end_s;
	char text[32] = "?";
	struct tm tm;

	if (gmtime_r(&end, &tm) != NULL)
		(void) strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	(void) printf("%s " CERT_FILE ": CN=" INITSIGN_NAME ", until %s\n", what, text);
}

/* --- the certificate --- */

/* kubelet may ask for such certificates: ClusterRole system:node. */
static char *find_kubeconfig(const char *root)
{
	static const char *const paths[] = {"/etc/kubernetes/kubelet.conf",
	                                    "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
	                                    "/var/lib/rancher/rke2/agent/kubelet.kubeconfig"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (initfiles_exist(root, paths[i]))
			return initfiles_at(root, paths[i]);
	}
	return NULL;
}

static int say_nobody_signs(void)
{
	(void) fputs("fairlead: neither the key of the cluster's authority is here "
	             "(/etc/kubernetes/pki/ca.key) nor a kubeconfig of kubelet's "
	             "(/etc/kubernetes/kubelet.conf): run this on a control-plane node, or name a "
	             "kubeconfig with --kubeconfig\n",
	             stderr);
	return CLI_FAILED;
}

/* Has the cluster sign it: prism-probe speaks HTTP, and waits. */
static int ask_cluster(const char *root, const char *kubeconfig, const char *key, char **ret_cert)
{
	char request_file[] = "/tmp/fairlead-request-XXXXXX";
	AUTO(free) char *found = kubeconfig == NULL ? find_kubeconfig(root) : NULL;
	AUTO(free) char *request = initsign_request(key);
	AUTO(free) char *cert = NULL;
	struct texts words = {0};
	AUTO(close) int fd = -1;
	int code, exit_code = CLI_FAILED;

	if (kubeconfig == NULL && found == NULL)
		return say_nobody_signs();
	if (request == NULL) {
		(void) fputs("fairlead: '" KEY_FILE "' is no private key, or has a passphrase\n", stderr);
		return CLI_FAILED;
	}
	fd = mkstemp(request_file);
	if (fd < 0)
		return fail(-errno, "make", request_file);
	texts_add(&words, "--sign");
	texts_add(&words, "%s", kubeconfig != NULL ? kubeconfig : found);
	texts_add(&words, "%s", request_file);
	code = write(fd, request, strlen(request)) == (ssize_t) strlen(request)
	           ? worker_text("prism-probe", &words, false, &cert, &exit_code)
	           : fail(-errno, "write", request_file);
	(void) unlink(request_file);
	texts_fini(&words);
	if (code != CLI_OK || exit_code != 0)
		return code != CLI_OK ? code : CLI_FAILED;
	if (initsign_end(cert, key, NULL) == 0) {
		(void) fputs("fairlead: what the cluster has signed is not what it was asked for\n",
		             stderr);
		return CLI_FAILED;
	}
	*ret_cert = TAKE_PTR(cert);
	return CLI_OK;
}

static int sign(const char *root, const struct authority *authority, const char *key, int64_t now_s,
                char **ret_cert)
{
	struct initsign_error error;
	char *ca_cert, *ca_key = NULL;
	int code;

	code = read_file(root, authority->cert, &ca_cert);
	if (code == CLI_OK)
		code = read_file(root, authority->key, &ca_key);
	if (code == CLI_OK) {
		*ret_cert = initsign_certificate(key, ca_cert != NULL ? ca_cert : "",
		                                 ca_key != NULL ? ca_key : "", now_s, &error);
		if (*ret_cert == NULL) {
			code = CLI_FAILED;
			(void) fprintf(stderr, "fairlead: '%s' %s: nothing is signed\n",
			               error.in == INITSIGN_CA_CERT  ? authority->cert
			               : error.in == INITSIGN_CA_KEY ? authority->key
			                                             : KEY_FILE,
			               error.text);
		}
	}
	wipe(ca_key);
	free(ca_cert);
	return code;
}

/* When the one that is there ends; 0: it is of no use. */
static int64_t find_end(const char *root, const char *cert, const char *key)
{
	const struct authority *authority = find_authority(root);
	AUTO(free) char *ca_cert = authority != NULL ? initfiles_text(root, authority->cert) : NULL;

	return cert != NULL && key != NULL ? initsign_end(cert, key, ca_cert) : 0;
}

static int make(const char *root, const char *kubeconfig, const char *old_key, int64_t now_s)
{
	const struct authority *authority = kubeconfig == NULL ? find_authority(root) : NULL;
	AUTO(free) char *at = initfiles_at(root, CERT_FILE);
	AUTO(free) char *key_at = initfiles_at(root, KEY_FILE);
	AUTO(free) char *cert = NULL;
	char *key = old_key != NULL ? xstrdup(old_key) : initsign_key();
	int code = authority != NULL ? sign(root, authority, key, now_s, &cert)
	                             : ask_cluster(root, kubeconfig, key, &cert);

	if (code == CLI_OK)
		code = make_directories(root);
	if (code == CLI_OK && old_key == NULL)
		code = write_file(key_at, key, 0400);
	if (code == CLI_OK)
		code = give_key(key_at);
	if (code == CLI_OK)
		code = write_file(at, cert, 0644);
	if (code == CLI_OK) {
		print_end("wrote", initsign_end(cert, key, NULL));
		(void) puts("The probes of vipd and prism on this node use it from now on. Run this again "
		            "before it ends.");
	}
	wipe(key);
	return code;
}

int initprobecert_make(const char *root, const char *kubeconfig, bool force, int64_t now_s)
{
	AUTO(free) char *cert = NULL;
	char *key = NULL;
	int64_t end_s;
	int code;

	code = read_file(root, KEY_FILE, &key);
	if (code == CLI_OK)
		code = read_file(root, CERT_FILE, &cert);
	end_s = find_end(root, cert, key);
	if (code == CLI_OK && !force && end_s - now_s >= (int64_t) INITSIGN_RENEW_DAYS * DAY_S)
		print_end("still good:", end_s);
	else if (code == CLI_OK)
		code = make(root, kubeconfig, force ? NULL : key, now_s);
	wipe(key);
	return code;
}
