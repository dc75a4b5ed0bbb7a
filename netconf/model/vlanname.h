/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The name of a VLAN that nobody has named, as Talos forms it. Pure.
 */

#include <net/if.h>

/*
 * The base's name and the id: "bond0.100". Where the base is so long that ".4094" would not fit
 * behind it, its first four characters and six hexadecimal digits of its SHA-256: "enp0f6195f.100".
 */
void vlanname_form(const char *base, unsigned id, char ret_name[static IFNAMSIZ]);
