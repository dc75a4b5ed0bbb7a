/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What selectors ask about links and rtnetlink does not tell: driver and place on the bus, by
 * ethtool's ioctl; the PCI id, from sysfs. Reading only; a fact that cannot be had is "".
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "netconf/model/model.h"
#include "netconf/config/selector.h"

struct devices;

/* The links of an observed model, which is borrowed until devices_free(). Never fails. */
struct devices *devices_read(const struct model *observed);
void devices_free(struct devices *devices);
DEFINE_AUTO(struct devices, devices_free);

const struct device *devices_list(const struct devices *devices, size_t *ret_n);
