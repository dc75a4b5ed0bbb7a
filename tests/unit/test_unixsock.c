/* SPDX-License-Identifier: Apache-2.0 */
/* A line to a socket, and what comes of it where nobody listens. */
#include "base/unixsock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/check.h"

int main(void)
{
	char dir[] = "/tmp/fairlead-unixsock-XXXXXX", path[64], text[32];
	int listener, fd, r = 0;

	CHECK(mkdtemp(dir) != NULL);
	(void) snprintf(path, sizeof(path), "%s/sock", dir);
	CHECK_EQ_INT(unixsock_tell(path, "hello\n"), -ENOENT);
	listener = unixsock_listen(path, NULL, 1);
	CHECK(listener >= 0);
	CHECK_EQ_INT(unixsock_tell(path, "hello there\n"), 0);
	fd = accept(listener, NULL, NULL);
	CHECK_EQ_INT(recv(fd, text, sizeof(text), MSG_WAITALL), 12);
	CHECK(memcmp(text, "hello there\n", 12) == 0);
	(void) close(fd);
	/* The queue is full: it does not wait. */
	for (int i = 0; i < 10 && r == 0; i++)
		r = unixsock_tell(path, "hello\n");
	CHECK_EQ_INT(r, -EAGAIN);
	(void) close(listener);
	CHECK_EQ_INT(unixsock_tell(path, "hello\n"), -ECONNREFUSED);
	(void) unlink(path);
	(void) rmdir(dir);
	return check_result();
}
