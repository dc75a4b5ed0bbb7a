/* SPDX-License-Identifier: Apache-2.0 */

/* What the programs that watch the wire share: their log, marks, and packets with stamps. */

#include "scribe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"

#define SOCKET_BUFFER_BYTES (4 << 20)

void scribe_die(const char *what)
{
	(void) fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

void scribe_open(struct scribe *s, const char *path)
{
	s->log = fopen(path, "we");
	if (s->log == NULL)
		scribe_die(path);
}

void scribe_close(struct scribe *s)
{
	if (fclose(s->log) != 0)
		scribe_die("the log");
}

void scribe_note(struct scribe *s, int64_t at_us, const char *fmt, ...)
{
	va_list ap;

	(void) fprintf(s->log, "%" PRId64 " ", at_us);
	va_start(ap, fmt);
	(void) vfprintf(s->log, fmt, ap);
	va_end(ap);
	(void) fputc('\n', s->log);
}

/* The kernel stamps frames and the story stamps marks with the wall clock. The difference of the
 * two clocks is read each time, so a step of the wall clock spoils at most one stamp. */
static int64_t boottime_of_wall(int64_t wall_us)
{
	return wall_us - wall_now_us() + mono_now_us();
}

static void take_mark(struct scribe *s, const char *line)
{
	int64_t seconds, us;
	int text_at = 0;

	if (sscanf(line, "%" SCNd64 ".%6" SCNd64 " %n", &seconds, &us, &text_at) == 2 && text_at > 0)
		scribe_note(s, boottime_of_wall(seconds * US_PER_S + us), "mark %s", line + text_at);
	else
		(void) fprintf(stderr, "%s: not a mark: '%s'\n", program_invocation_short_name, line);
}

void scribe_read_marks(struct scribe *s)
{
	ssize_t n = read(STDIN_FILENO, s->input + s->input_len, sizeof(s->input) - 1 - s->input_len);
	char *newline;

	if (n <= 0) {
		s->input_ended = true;
		return;
	}
	s->input_len += (size_t) n;
	s->input[s->input_len] = '\0';
	while ((newline = strchr(s->input, '\n')) != NULL) {
		*newline = '\0';
		take_mark(s, s->input);
		s->input_len -= (size_t) (newline + 1 - s->input);
		memmove(s->input, newline + 1, s->input_len + 1);
	}
	if (s->input_len == sizeof(s->input) - 1)
		s->input_len = 0;
}

int64_t scribe_frame_time(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		struct timespec ts;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return boottime_of_wall(ts.tv_sec * US_PER_S + ts.tv_nsec / 1000);
	}
	return mono_now_us();
}

int scribe_packet_socket(int type, uint16_t protocol, int ifindex)
{
	struct sockaddr_ll sll = {
	    .sll_family = AF_PACKET, .sll_protocol = htons(protocol), .sll_ifindex = ifindex};
	int fd = socket(AF_PACKET, type | SOCK_CLOEXEC, 0);
	int buffer = SOCKET_BUFFER_BYTES, on = 1;

	if (fd < 0)
		scribe_die("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0)
		scribe_die("SO_TIMESTAMPNS");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) < 0)
		scribe_die("SO_RCVBUFFORCE");
	if (bind(fd, (struct sockaddr *) &sll, sizeof(sll)) < 0)
		scribe_die("bind");
	return fd;
}
