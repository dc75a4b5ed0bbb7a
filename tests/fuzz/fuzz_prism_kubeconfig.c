/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for kubeconfigs. One that is taken says who we are, and gives each thing
 * either as a path or as contents.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prism/probe/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
	char error[64] = "";
	bool has_cert, has_key;

	if (kubeconfig_parse("/etc/kubeconfig", (const char *) data, size, error, sizeof(error), &k) <
	    0) {
		if (k != NULL || error[0] == '\0' || strlen(error) >= sizeof(error))
			abort();
		return 0;
	}
	has_cert = k->cert_file != NULL || k->cert_pem != NULL;
	has_key = k->key_file != NULL || k->key_pem != NULL;
	if (has_cert != has_key || (!has_cert && k->token == NULL && k->token_file == NULL))
		abort();
	if ((k->ca_file != NULL && k->ca_pem != NULL) ||
	    (k->cert_file != NULL && k->cert_pem != NULL) ||
	    (k->key_file != NULL && k->key_pem != NULL) || (k->token != NULL && k->token_file != NULL))
		abort();
	return 0;
}
