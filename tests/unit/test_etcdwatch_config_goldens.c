/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus of tests/config/etcdwatch; goldens.h says how it is read. */
#include "etcdwatch/config/config.h"

#include "tests/unit/goldens.h"

/* A kubeadm node. */
static bool file_exists(const char *path)
{
	return strncmp(path, "/etc/kubernetes/pki/", 20) == 0;
}

int main(int argc, char **argv)
{
	const struct config_env env = {.hostname = "golden", .file_exists = file_exists};

	return goldens_main(argc, argv, "tests/config/etcdwatch", &env, 47);
}
