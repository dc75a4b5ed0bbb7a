/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Networks by chance, for plans from any to any other. */

#include "netconf/model/model.h"

/* Wanted, normalised; the caller frees it. The same seed makes the same network; it moves on. */
struct model *planrandom_model(unsigned *seed);
