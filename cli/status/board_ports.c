/* SPDX-License-Identifier: Apache-2.0 */
/* The ports that metrics are scraped from: a line for those that could not be opened, and none if
 * all are open. */
#include "cli/status/board.h"

#include "cli/common/fields.h"

void board_ports(struct board *board, const struct node_reply replies[static NODE_QUESTIONS])
{
	static const enum node_question questions[] = {NODE_VIP_PORT, NODE_PRISM_PORT, NODE_ETCD_PORT,
	                                               NODE_NET_PORT};
	bool has_line = false;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		const json_t *told = json_array_get(node_objects(&replies[questions[i]]), 0);
		const json_t *port = json_object_get(told, "port");
		const char *daemon = node_questions[questions[i]].daemon;
		const char *listen = field_text(port, "listen"), *error = field_text(port, "error");

		if (listen == NULL || error == NULL)
			continue;
		if (!has_line)
			board_begin(board, "metrics");
		has_line = true;
		board_say(board, "the port of %s, %s, is not open", daemon, listen);
		board_matter(board, BOARD_WARNED,
		             "ss -ltnp tells who has it; 'metrics' of NodeConfig names it",
		             "nobody can scrape %s: its port %s is not open: %s", daemon, listen, error);
	}
}
