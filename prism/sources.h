/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where upstreams come from: keeps what each source said last, merges it (endpoints.h), and hands
 * the merged list over whenever it changes. Own sources: the configuration's addresses, the local
 * API server, the watched file, the list on disk. The others (names, members, EndpointSlices) come
 * from the probe process by sources_update(). Own addresses are read anew with each merge and twice
 * a minute.
 *
 * What is known is not given up for nothing: a source that falls silent, or names nobody, keeps its
 * last list, and a merged list that would become empty (a file that names prism itself) is not
 * handed over. With healthCheck off nothing is remembered on disk, for nothing that is read from
 * there could be verified.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "prism/config.h"
#include "prism/endpoints.h"

/*
 * Tells when a file may have changed, however that is done: written in place, replaced by
 * rename(2), removed, created late, or behind a symlink that now points elsewhere (as kubelet
 * updates the files of a ConfigMap). Its directory is watched by inotify(7), and the directory that
 * the path leads to; a look every few seconds catches what they do not show (a directory that comes
 * later, a network file system, no inotify instance left). Changes that come together are told
 * once, when the file has been quiet for a moment.
 */

struct filewatch;

/* The file is another one than at the last call, or than at filewatch_new(). May free the watch. */
typedef void (*filewatch_changed_fn)(void *userdata);

/* The file need not exist. path is copied. Without inotify it goes on, logged, and only looks. */
struct filewatch *filewatch_new(struct ev_loop *ev, const char *path, filewatch_changed_fn changed,
                                void *userdata);
void filewatch_free(struct filewatch *watch);
DEFINE_AUTO(struct filewatch, filewatch_free);

struct sources;

typedef void (*sources_changed_fn)(const struct endpoints_merged *merged, void *userdata);

/* config is borrowed until sources_free(). The first list comes through `changed` before the loop
 * turns, but not before this returns. 0 or -errno. */
int sources_new(struct ev_loop *ev, const struct config *config, sources_changed_fn changed,
                void *userdata, struct sources **ret_sources);
void sources_free(struct sources *sources);
DEFINE_AUTO(struct sources, sources_free);

/* What the probe process found. */
void sources_update(struct sources *sources, enum endpoints_source source,
                    const struct endpoints_list *list);

/* What the process before this one knew, before the loop turns: an upstream that has proved its
 * identity there, and who had named it (ENDPOINTS_FROM()). As with the list on disk, it stands in
 * for each of them until that source has spoken. */
void sources_inherit(struct sources *sources, const struct endpoint *endpoint, unsigned from);
/* For sources_inherit() of the process that follows: who names it, and for whom it stands in. */
unsigned sources_from(const struct sources *sources, const struct endpoint *endpoint);

/* A discovered upstream has proved its identity: only such ones are written to disk. */
void sources_on_verified(struct sources *sources, const struct endpoint *endpoint);

/* What is wrong with a source; "" when nothing is. Borrowed until the next turn of the loop. */
const char *sources_error(const struct sources *sources, enum endpoints_source source);
size_t sources_count(const struct sources *sources, enum endpoints_source source);
