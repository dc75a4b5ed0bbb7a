/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for configuration files, as etcdwatch reads them. */
#include "etcdwatch/config/config.h"

#include "tests/fuzz/conf_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool file_exists(const char *path)
{
	return strlen(path) % 2 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct config_env env = {.hostname = "fuzz", .file_exists = file_exists};

	return conf_target(&env, data, size);
}
