/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the links of this machine that only drivers know. ethtool's ioctl works in every
 * network namespace, while sysfs shows only the links of the namespace in which it was mounted, so
 * sysfs is asked for nothing but the PCI id of a device whose bus address ethtool has named.
 */
#include "netconf/kernel/devices.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fileio.h"
#include "base/mem.h"

#define UEVENT_BYTES_MAX 4096

/* What a device's texts point to, but for those of the model. */
struct texts {
	char bus_path[ETHTOOL_BUSINFO_LEN + 1], driver[ETHTOOL_BUSINFO_LEN + 1], pci_id[16];
};

struct devices {
	struct device *list;
	struct texts *texts;
	size_t n;
};

static void ask_driver(int fd, const char *name, struct texts *texts)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {.ifr_data = (void *) &info};

	(void) snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request) < 0)
		return;
	(void) snprintf(texts->driver, sizeof(texts->driver), "%.*s", (int) sizeof(info.driver),
	                info.driver);
	(void) snprintf(texts->bus_path, sizeof(texts->bus_path), "%.*s", (int) sizeof(info.bus_info),
	                info.bus_info);
}

/* "PCI_ID=8086:1533" among the lines of uevent. */
static void read_pci_id(struct texts *texts)
{
	static const char key[] = "\nPCI_ID=";
	AUTO(free) char *path = NULL;
	AUTO(free) char *text = NULL;
	const char *line;
	size_t len;

	if (texts->bus_path[0] == '\0' || strchr(texts->bus_path, '/') != NULL)
		return;
	path = xasprintf("/sys/bus/pci/devices/%s/uevent", texts->bus_path);
	if (file_read(path, UEVENT_BYTES_MAX, &text, &len) < 0)
		return;
	line = strncmp(text, key + 1, strlen(key + 1)) == 0 ? text : strstr(text, key);
	if (line == NULL)
		return;
	line = strchr(line, '=') + 1;
	(void) snprintf(texts->pci_id, sizeof(texts->pci_id), "%.*s", (int) strcspn(line, "\n"), line);
}

static void read_device(int fd, const struct link *link, struct device *device, struct texts *texts)
{
	ask_driver(fd, link->name, texts);
	read_pci_id(texts);
	*device = (struct device){
	    .altnames = (const char *const *) link->altnames,
	    .n_altnames = link->n_altnames,
	    .is_physical = link->kind_name[0] == '\0' && link->kind != LINK_LOOPBACK,
	    .mac = link->mac,
	    .has_permanent_mac = link->has_permanent_mac,
	    .permanent_mac = link->permanent_mac,
	    .bus_path = texts->bus_path,
	    .pci_id = texts->pci_id,
	    .driver = texts->driver,
	    .kind = link->kind_name,
	};
	memcpy(device->name, link->name, sizeof(device->name));
}

struct devices *devices_read(const struct model *observed)
{
	AUTO(close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct devices *devices = NEW0(struct devices);

	devices->n = observed->n_links;
	devices->list = xcalloc(devices->n, sizeof(*devices->list));
	devices->texts = xcalloc(devices->n, sizeof(*devices->texts));
	for (size_t i = 0; i < devices->n; i++)
		read_device(fd, &observed->links[i], &devices->list[i], &devices->texts[i]);
	return devices;
}

void devices_free(struct devices *devices)
{
	if (devices == NULL)
		return;
	free(devices->list);
	free(devices->texts);
	free(devices);
}

const struct device *devices_list(const struct devices *devices, size_t *ret_n)
{
	*ret_n = devices->n;
	return devices->list;
}
