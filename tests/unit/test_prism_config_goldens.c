/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus of tests/config/prism; goldens.h says how it is read. */
#include "prism/config.h"

#include "tests/unit/goldens.h"

/* A worker that kubeadm made: a CA, no API server. */
static bool file_exists(const char *path)
{
	return strcmp(path, "/etc/kubernetes/pki/ca.crt") == 0;
}

int main(int argc, char **argv)
{
	const struct config_env env = {.file_exists = file_exists};

	return goldens_main(argc, argv, "tests/config/prism", &env, 60);
}
