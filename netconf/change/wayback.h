/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where undoing can lead to now. Links that others have taken away since are not made anew: a
 * virtual one that its owner has deleted stays deleted. A network card that is gone may come back,
 * and if the change had touched it, the way back is not whole before it has. Pure.
 */

#include <net/if.h>

#include "netconf/model/model.h"
#include "netconf/plan/plan.h"

/* The network as it was, without those links; the caller frees it. ret_missing: a card that is to
 * come back; "": none. Both models are normalised. */
struct model *wayback_make(const struct model *before, const struct plan *undone,
                           const struct model *have, char ret_missing[static IFNAMSIZ]);
