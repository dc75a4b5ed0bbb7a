/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the server does at the moment: options of the command line, over which a control file of
 * words "mode=MODE readyz=STATUS" has the last say. The file is read anew whenever something is
 * decided, so that a story changes it while the server runs.
 */

#include <stdint.h>

enum script_mode {
	SCRIPT_SERVE,  /* HTTP over TLS */
	SCRIPT_ECHO,   /* send back what comes, end when the client has ended */
	SCRIPT_SILENT, /* read, and never a byte nor an end */
	SCRIPT_BYTE,   /* the first byte back, then the same */
	SCRIPT_DRIP,   /* an echo of one byte now and then */
	SCRIPT_CLOSE,  /* close when the first bytes came */
	SCRIPT_RESET,  /* the same with a reset */
	SCRIPT_FIRST,  /* when the first bytes came: send the known stream and end; read on */
};

struct script {
	enum script_mode mode;
	unsigned readyz;          /* the status of /readyz; 0: it is not answered */
	const char *control_file; /* NULL: none */
	const char *record_dir;   /* what each connection received goes here; NULL: nowhere */
	const char *body;         /* of every other path */
	int64_t drip_us;
	uint64_t bytes; /* of SCRIPT_FIRST */
};

/* 0 or -EINVAL: "serve", "echo", ... */
int script_parse_mode(const char *word, enum script_mode *ret_mode);
/* As it is now. */
struct script script_now(const struct script *script);
