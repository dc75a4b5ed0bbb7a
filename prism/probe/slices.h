/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks the API for the EndpointSlices of default/kubernetes again and again, through a listener of
 * prism itself: whoever lives answers. The kubeconfig and the files that it names are read anew
 * each time.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "prism/endpoints.h"
#include "prism/probe/found.h"
#include "prism/probe/wire.h"

/*
 * The EndpointSlices of the service `kubernetes`, as the API answers a list request. Pure.
 * https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/
 */

/* 0, or -EBADMSG with the reason, a constant, in *ret_error: not such a list, or nobody in it. */
int slicelist_parse(const char *text, size_t len, struct endpoints_list *ret_list,
                    const char **ret_error);

struct slices;

/* settings are borrowed until slices_free(), and have a kubeconfig and a listener. `found` is
 * called after each look, and never from inside slices_new(). 0 or -errno. */
int slices_new(struct ev_loop *ev, const struct settings *settings, found_fn found, void *userdata,
               struct slices **ret_slices);
void slices_free(struct slices *slices);
DEFINE_AUTO(struct slices, slices_free);
