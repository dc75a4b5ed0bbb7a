/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead init` where a configuration is already: what it replaces, and what it does not. */
#include "tests/unit/clirun.h"

#define LAYER2                                         \
	"apiVersion: fairlead/v1\nkind: NodeConfig\n---\n" \
	"apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.5\nlink: eth0\n"
#define LEGACY                                                                          \
	"machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 5, vip: {ip: " \
	"10.0.0.5}}]}]}}\n"
#define HCLOUD "apiVersion: v1alpha1\nkind: HCloudVIPConfig\nname: 10.0.0.5\nlink: eth0\n"
#define LAYER2_IPV6 "apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: fd00::5\nlink: eth0\n"
#define NO_VIP "apiVersion: fairlead/v1\nkind: NodeConfig\nname: a\n"

static void check_init(const char *old, const char *options, int want_code, const char *want_err)
{
	AUTO(free) char *path = xasprintf("%s/config.yaml", clirun_dir);
	AUTO(free)
	char *line =
	    xasprintf("init --root %s --role control-plane --file %s %s", clirun_dir, path, options);
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;
	AUTO(free) char *now = NULL;
	size_t len;

	CHECK_EQ_INT(file_write_atomic(path, old, strlen(old), 0644, FILE_VOLATILE), 0);
	CHECK_EQ_INT(clirun(line, &out, &err), want_code);
	if (!CHECK(strstr(err, want_err) != NULL))
		(void) fprintf(stderr, "  fairlead %s\n%s", line, err);
	CHECK_EQ_INT(file_read(path, 65536, &now, &len), 0);
	CHECK((strcmp(now, old) == 0) == (want_code != CLI_OK));
}

int main(void)
{
	clirun_begin();
	check_init(NO_VIP, "", CLI_FAILED, "--force replaces all of it, also what you wrote");
	check_init(NO_VIP, "--force", CLI_OK, "run this again with --vip and --force");
	check_init(LAYER2, "--force", CLI_FAILED, "has the VIP 10.0.0.5, which would be gone");
	check_init(LEGACY, "--force", CLI_FAILED, "has the VIP 10.0.0.5, which would be gone");
	check_init(HCLOUD "---\n" LAYER2_IPV6, "--vip 10.0.0.5 --link eth0 --force", CLI_FAILED,
	           "has the VIP fd00::5, which would be gone");
	check_init(LAYER2, "--vip 10.0.0.6 --link eth0 --force", CLI_FAILED,
	           "has the VIP 10.0.0.5, which would be gone");
	check_init(LAYER2_IPV6, "--vip 10.0.0.6,fd00:0::5 --link eth0 --force", CLI_OK, "");
	check_init(NO_VIP, "-o config.yaml", CLI_USAGE,
	           "'init' names the file that it writes by --file");
	check_init("a: [", "--force", CLI_OK, "");
	clirun_end();
	return check_result();
}
