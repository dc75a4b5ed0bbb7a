/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead support`: that no secret gets into the archive, from wherever it might, and that what
 * helps does; that who hangs is named and keeps nothing else away.
 */
#include <errno.h>
#include <sys/stat.h>

#include "tests/unit/clirun.h"
#include "tests/unit/scripted.h"

/* 32 bytes, as wg(8) writes them. */
#define WIREGUARD_KEY "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="

/* What must not be found in it, each planted in a place of its own. */
static const char *const secrets[] = {
    "config-secret-1",      /* a key of the configuration */
    "file-secret-2",        /* in a file that it names, said by a log without its name */
    "webhook-secret-3",     /* in the path of a URL */
    "environment-secret-4", /* of this process */
    "comment-secret-5",
    "anchored-secret-6", /* written where nothing tells, used where it is secret */
    "probe-secret-7",    /* logs in to a URL */
    "block-secret-8",
    "s3-secret-9", /* AWS's way of writing it */
    WIREGUARD_KEY,
    "AGE-SECRET-KEY-1QYQSZQ",
    "pem-secret-10",
    "log-secret-11",
    "status-secret-12",
    "metric-secret-13",
    "url-file-secret-14",
    "kubeconfig-secret-15",
    "command-secret-16",
    "cmVnaXN0cnk6c2VjcmV0LTE3", /* user and password of a registry, as it wants them */
    "content-secret-18",
    "header-secret-19",
    "folded-secret-20", /* a block that nothing tells of where it is written */
    "tight-secret-21",  /* AWS's file without blanks, said by a log */
    "escaped-secret-22",
    "chained-secret-23",
    "quoted-secret-24", /* over two lines, and secret by an alias alone */
    "curl-secret-25",   /* -u USER:SECRET, in a list and in a log */
    "option-secret-26", /* -p SECRET, in a list */
    "unicode-secret-27",
    "aliased-secret-28", /* written under a name that may be shown */
    "pw-secret-29",
    "271830", /* a number: pin */
    "salt-secret-31",
    "remark-secret-32", /* a comment of one word */
    "broken-secret-33", /* in a document that cannot be read */
    "map-secret-34",    /* as a key */
    "stdout-secret-35", /* a log, but no event of ours */
    "event-secret-36",  /* a field that the event does not have */
    "sentence-secret-37",
    "note-secret-38", /* why a command failed */
    "told-secret-39", /* why a daemon refused */
    "hunter-39",      /* a program that a daemon runs begins its line as systemd does */
    "hunter-40",      /* in a sentence, behind what says that a secret follows */
    "hunter-41",
    "hunter-42",
    "hunter-43",               /* USER:PASSWORD in a sentence */
    "hunter-44",               /* with a '/' in it, in a URL */
    "abcdef.0123456789abcdef", /* a bootstrap token of Kubernetes */
    "AKIAIOSFODNN7EXAMPLE",
};

static const char config_text[] = "apiVersion: fairlead/v1\n"
                                  "kind: EtcdClientConfig\n"
                                  "password: config-secret-1\n"
                                  "passwordFile: DIR/etcd.password\n"
                                  "# token: comment-secret-5\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: EtcdWatchConfig\n"
                                  "notify:\n"
                                  "  url: https://hooks.example.org/webhook-secret-3\n"
                                  "  urlFile: DIR/url\n"
                                  "x: &a anchored-secret-6\n"
                                  "y: {secret: *a}\n"
                                  "z: &b |\n"
                                  "  one line\n"
                                  "  folded-secret-20\n"
                                  "w: {secret: *b}\n"
                                  "v: &c \"one line\n"
                                  "quoted-secret-24\"\n"
                                  "u: {secret: *c}\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: EtcdSnapshotConfig\n"
                                  "name: kept-by-name\n"
                                  "identity: |\n"
                                  "  block-secret-8\n"
                                  "  AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGP\n"
                                  "targets:\n"
                                  "  - credentialsFile: DIR/aws\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: PrismConfig\n"
                                  "upstreams: {endpointSlices: {kubeconfig: DIR/kubeconfig}}\n"
                                  "---\n"
                                  "apiVersion: v1alpha1\n"
                                  "kind: WireguardConfig\n"
                                  "privateKey: " WIREGUARD_KEY "\n"
                                  "---\n"
                                  "apiVersion: v1alpha1\n"
                                  "kind: HTTPProbeConfig\n"
                                  "url: http://me:probe-secret-7@10.0.0.20:3128/health\n"
                                  "key: |\n"
                                  "  -----BEGIN PRIVATE KEY-----\n"
                                  "  pem-secret-10\n"
                                  "  -----END PRIVATE KEY-----\n"
                                  "headers: {X-Site: header-secret-19}\n"
                                  "---\n"
                                  "machine:\n"
                                  "  registries:\n"
                                  "    config:\n"
                                  "      registry.example.org:\n"
                                  "        auth: {auth: cmVnaXN0cnk6c2VjcmV0LTE3}\n"
                                  "  files:\n"
                                  "    - content: |\n"
                                  "        open: content-secret-18\n"
                                  "      path: /etc/kept-path\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: EtcdSnapshotConfig\n"
                                  "name: &alias aliased-secret-28\n"
                                  "passphrase: *alias\n"
                                  "targets:\n"
                                  "  - command: {list: [curl, -u, bob:curl-secret-25]}\n"
                                  "  - command: {list: [mysql, -p, option-secret-26]}\n"
                                  "    \"pass\\u0077ord\": unicode-secret-27\n"
                                  "    pw: pw-secret-29 # remark-secret-32\n"
                                  "    pin: 271830\n"
                                  "    salt: salt-secret-31\n"
                                  "    map-secret-34: {map-secret-34: map-secret-34}\n";

static const char journal_text[] =
    "#!/bin/sh\n"
    "cat <<'END'\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=gate_made table=kept_in_the_log\n"
    "2026-11-22 vipd: event=auth user=root tried file-secret-2 and s3-secret-9 and "
    "url-file-secret-14 and kubeconfig-secret-15\n"
    "2026-11-22 vipd: password=log-secret-11 err=x\n"
    "2026-11-22 vipd: told webhook-secret-3, anchored-secret-6, header-secret-19\n"
    "2026-11-22 vipd: -----BEGIN RSA PRIVATE KEY-----\n"
    "pem-secret-10\n"
    "-----END RSA PRIVATE KEY-----\n"
    "2026-11-22 vipd: tight-secret-21 body=\"{\\\"password\\\":\\\"an escaped-secret-22\\\"}\"\n"
    "2026-11-22 vipd: pem=\"-----END CERTIFICATE-----\\n-----BEGIN EC PRIVATE KEY-----\\n"
    "chained-secret-23\\n-----END EC PRIVATE KEY-----\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: curl -u bob:curl-secret-25 stdout-secret-35\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state vip=10.0.0.5 salt=event-secret-36"
    " reason=\"curl -u bob:curl-secret-25 said 'sentence-secret-37'\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"it said password: "
    "hunter-40\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"Authorization: Bearer "
    "hunter-41\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"the token hunter-42 is "
    "refused\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"refused "
    "bob:hunter-43\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"asked "
    "http://bob:hunter-44/x@10.0.0.9/\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"join by "
    "abcdef.0123456789abcdef as AKIAIOSFODNN7EXAMPLE\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 vipd[12]: event=vip_state reason=\"cannot read "
    "/etc/fairlead/token: kept-why from 10.0.0.9:2379, fd00::1, x.yaml:3:7: kept-too\"\n"
    "2026-11-22T13:45:00.123456+0000 n1 store.sh[13]: Started mysql -u bob -phunter-39\n"
    "2026-11-22T13:45:00.123456+0000 n1 systemd[1]: Started fairlead-vipd.service - kept_unit\n"
    "2026-11-22T13:45:00.123456+0000 n1 kernel: Unknown command line parameters pin=271830\n"
    "END\n";

static void put(const char *name, const char *text, mode_t mode)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);
	char *result = NULL;
	size_t len;
	FILE *out = open_memstream(&result, &len);

	for (const char *p = text; *p != '\0';) {
		if (strncmp(p, "DIR/", 4) == 0) {
			(void) fputs(clirun_dir, out);
			p += 3;
		} else {
			(void) fputc(*p++, out);
		}
	}
	(void) fclose(out);
	CHECK_EQ_INT(file_write_atomic(path, result, strlen(result), mode, FILE_VOLATILE), 0);
	free(result);
}

static bool shell(const char *fmt, const char *argument)
{
	AUTO(free) char *dir = xasprintf("D=%s; set -- '%s'; %s", clirun_dir, argument, fmt);

	return system(dir) == 0;
}

static void plant(void)
{
	AUTO(free) char *bin = xasprintf("%s/bin", clirun_dir);
	AUTO(free) char *path = xasprintf("%s:%s", bin, getenv("PATH"));

	CHECK_EQ_INT(mkdir(bin, 0755), 0);
	CHECK_EQ_INT(setenv("PATH", path, 1), 0);
	CHECK_EQ_INT(setenv("FAIRLEAD_TOKEN", "environment-secret-4", 1), 0);
	put("config.yaml", config_text, 0600);
	put("etcd.password", "file-secret-2\n", 0600);
	put("url", "https://hooks.example.org/url-file-secret-14\n", 0600);
	put("aws",
	    "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"
	    "aws_secret_access_key = s3-secret-9\n"
	    "aws_session_token=tight-secret-21\n",
	    0600);
	put("kubeconfig", "users:\n- user: {token: kubeconfig-secret-15}\n", 0600);
	put("bin/journalctl", journal_text, 0755);
	put("broken.yaml", "salt: broken-secret-33\nname: [\n", 0600);
	put("bin/uname", "#!/bin/sh\necho note-secret-38\nexit 1\n", 0755);
	put("bin/ss", "#!/bin/sh\necho 'x --password command-secret-16'\n", 0755);
	/* It hangs, and so does what it has started. */
	put("bin/nft", "#!/bin/sh\necho table ip half\nsleep 1000 &\nsleep 1000\n", 0755);
}

/* vipd hangs. */
static const struct scripted_row daemons[] = {
    {"vipd", NULL, NULL},
    {"etcdwatch", "metrics",
     "{\"metrics\":\"fairlead_etcdwatch_compared_same 1\\nx{token=\\\"metric-secret-13\\\"} "
     "1\\n\"}\nok\n"},
    {"etcdwatch", "etcd health",
     "{\"state\":\"ok\",\"findings\":[],\"leader\":\"in-status\",\"token\":\"status-secret-12\","
     "\"pass\\u0077ord\":\"unicode-secret-27\","
     "\"pw\":\"pw-secret-29\",\"pin\":271830,\"salt\":[\"salt-secret-31\"],"
     "\"args\":[\"-u\",\"bob:curl-secret-25\",\"-p\",\"option-secret-26\"]}\nok\n"},
    {"etcdwatch", "etcd alarms", "error failed no 'told-secret-39'\n"},
    {"etcdwatch", NULL, "error notfound nothing\n"},
};

static void check_has(const char *text, const char *file)
{
	AUTO(free) char *command = xasprintf("grep -qF -- \"$1\" $D/out.d/*/%s", file);

	if (!CHECK(shell(command, text)))
		(void) fprintf(stderr, "  '%s' is not in %s\n", text, file);
}

static void test_archive(void)
{
	AUTO(free)
	char *line = xasprintf("-r %s support --config %s/config.yaml --config %s/broken.yaml --file "
	                       "%s/support.tar.gz",
	                       clirun_dir, clirun_dir, clirun_dir, clirun_dir);
	AUTO(free) char *archive = xasprintf("%s/support.tar.gz", clirun_dir);
	pid_t pid = scripted_start(clirun_dir, daemons, ARRAY_SIZE(daemons));
	struct stat st;

	plant();
	clirun_check(line, CLI_OK, "wrote ", "");
	scripted_stop(pid);
	CHECK(stat(archive, &st) == 0 && (st.st_mode & 0777) == 0600);
	/* Nothing is left beside it. */
	CHECK(shell("! ls -A $D | grep -q fairlead-support", ""));
	CHECK(shell("mkdir $D/out.d && tar -C $D/out.d -xzf $D/support.tar.gz", ""));
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		if (!CHECK(shell("! grep -rqF -- \"$1\" $D/out.d", secrets[i])))
			(void) fprintf(stderr, "  found: %s\n", secrets[i]);
	}
	check_has("name: kept-by-name", "config/tmp/*/config.yaml");
	check_has("/etcd.password", "config/tmp/*/config.yaml");
	check_has("url: https://hooks.example.org<path, ", "config/tmp/*/config.yaml");
	check_has("event=gate_made table=kept_in_the_log", "logs/fairlead-vipd.log");
	check_has("Started fairlead-vipd.service - kept_unit", "logs/fairlead-vipd.log");
	check_has("/etc/fairlead/token: kept-why from 10.0.0.9:2379, fd00::1, x.yaml:3:7: kept-too",
	          "logs/fairlead-vipd.log");
	check_has("fairlead_etcdwatch_compared_same 1", "daemons/etcdwatch-metrics.prom");
	check_has("in-status", "daemons/etcdwatch-etcd-health.json");
	check_has("vipd: vip status: no answer in time", "SUMMARY.md");
	check_has("did not end within 5 s", "SUMMARY.md");
	check_has("table ip half", "network/nftables.txt");
	check_has("ifname", "network/address.json");
}

static void test_refused(void)
{
	AUTO(free)
	char *line =
	    xasprintf("-r %s support --no-logs --file %s/no/such.tar.gz", clirun_dir, clirun_dir);

	clirun_check(line, CLI_FAILED, "", "fairlead: cannot write '");
}

/* By a signal that comes while tar(1) is at work. */
static void test_interrupted(void)
{
	AUTO(free)
	char *line = xasprintf("-r %s support --no-logs --file %s/late.tar.gz", clirun_dir, clirun_dir);

	put("bin/nft", "#!/bin/sh\n", 0755);
	put("bin/tar", "#!/bin/sh\nkill -INT $PPID\n", 0755);
	clirun_check(line, CLI_FAILED, "", "\nfairlead: interrupted: nothing was written");
	CHECK(shell("! test -e $D/late.tar.gz && ! ls -A $D | grep -q fairlead-support", ""));
}

int main(void)
{
	clirun_begin();
	test_archive();
	test_refused();
	test_interrupted();
	clirun_end();
	return check_result();
}
