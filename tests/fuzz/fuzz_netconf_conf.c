/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for configuration files, as netconf reads them, resolves them against
 * some devices and converts them to the newer style.
 */
#include "netconf/config/config.h"

#include "netconf/config/resolve.h"
#include "tests/fuzz/conf_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct device devices[] = {
    {.name = "eth0",
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 1}},
     .bus_path = "0000:01:00.0",
     .pci_id = "8086:1533",
     .driver = "e1000",
     .kind = ""},
    {.name = "eth1",
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 2}},
     .bus_path = "0000:02:00.0",
     .pci_id = "1af4:1000",
     .driver = "virtio_net",
     .kind = ""},
};

static void ignore_message(const char *message, void *userdata)
{
	(void) message;
	(void) userdata;
}

/* What could be converted is a configuration, and a model once it is resolved. */
static void use(struct config *config)
{
	AUTO(resolution_free)
	struct resolution *resolution = resolve(config, devices, sizeof(devices) / sizeof(devices[0]));
	AUTO(config_free) struct config *again = NULL;
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out;

	model_free(model_copy(resolution->model));
	if (config_convert(config, devices, sizeof(devices) / sizeof(devices[0]), ignore_message,
	                   NULL) < 0)
		return;
	out = open_memstream(&text, &len);
	config_print_converted(config, out);
	(void) fclose(out);
	(void) config_load_text("converted", text, len, NULL, ignore_message, NULL, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config = NULL;

	(void) conf_target(NULL, data, size);
	if (config_load_text("fuzz", (const char *) data, size, NULL, NULL, NULL, &config) < 0)
		return 0;
	use(config);
	config_free(config);
	return 0;
}
