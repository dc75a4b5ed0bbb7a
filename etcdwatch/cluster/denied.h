/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * -EACCES in words, to put behind "etcd" or a member's name: what is refused, as the server says
 * it, and what to do. A member that refuses is not one that does not answer. The caller frees the
 * text.
 */
char *denied_text(const char *said);
