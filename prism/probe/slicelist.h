/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The EndpointSlices of the service `kubernetes`, as the API answers a list request. Pure.
 * https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/
 */

#include "prism/endpoints.h"

/* 0, or -EBADMSG with the reason, a constant, in *ret_error: not such a list, or nobody in it. */
int slicelist_parse(const char *text, size_t len, struct endpoints_list *ret_list,
                    const char **ret_error);
