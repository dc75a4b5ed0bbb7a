/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a restore has to know of the machine besides its data directory (datadir.h): who it is,
 * whether somebody listens where the member would, whether kubelet would start etcd on the
 * directory by itself, and which API servers run. Each returns a new object; what cannot be found
 * out is left out. Blocking.
 */

#include <jansson.h>

/* "host" and "addresses", as text. */
json_t *hostfacts_self(void);

/* For each of the peer URLs (with commas) {"url", "local", "listening"}: whether its address is one
 * of this machine, and whether its port there is taken. */
json_t *hostfacts_peers(const char *urls);

/* The paths of those files in a directory of static pods that name the data directory. An empty
 * array when there is no such directory. */
json_t *hostfacts_manifests(const char *directory, const char *data_dir);

/* Processes of kube-apiserver in this network namespace, by their ids: a static pod of it has the
 * network of the host. */
json_t *hostfacts_api_servers(void);

/* The members in a database of etcd, as prove.h has them; null: it cannot be read. etcd may
 * be writing to it. */
json_t *hostfacts_members(const char *db);
