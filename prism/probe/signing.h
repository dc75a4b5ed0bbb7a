/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * prism-probe --sign KUBECONFIG REQUEST: has the cluster sign a request for a client certificate
 * (PEM, in a file), as the current user of the kubeconfig. Posts a CertificateSigningRequest
 * (certificates.k8s.io/v1, signer kubernetes.io/kube-apiserver-client), says on standard error how
 * to approve it, waits SIGNING_WAIT_US for that, and prints the certificate. For `fairlead init
 * --probe-certificate` on nodes without the authority's key. An exit code; errors are said.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */

#include "base/mono.h"

#define SIGNING_WAIT_US (600 * US_PER_S)

int signing_run(const char *kubeconfig, const char *request_file);
