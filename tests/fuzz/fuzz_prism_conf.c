/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for configuration files, as prism reads them. */
#include "prism/config.h"

#include "tests/fuzz/conf_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A worker that kubeadm made. */
static bool file_exists(const char *path)
{
	return strcmp(path, "/etc/kubernetes/pki/ca.crt") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct config_env env = {.file_exists = file_exists};

	return conf_target(&env, data, size);
}
