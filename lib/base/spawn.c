/* SPDX-License-Identifier: Apache-2.0 */
/* posix_spawn(3), which copies nothing of a large process. */
#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* Ours are dealt out before 0 is opened: they may themselves be among the lower numbers. */
static void set_files(const struct spawn *spawn, posix_spawn_file_actions_t *files)
{
	int kept = STDERR_FILENO;

	if ((spawn->given & SPAWN_EXTRA) != 0) {
		(void) posix_spawn_file_actions_adddup2(files, spawn->extra, SPAWN_EXTRA_FD);
		kept = SPAWN_EXTRA_FD;
	}
	if ((spawn->given & SPAWN_ERR) != 0)
		(void) posix_spawn_file_actions_adddup2(files, spawn->err, STDERR_FILENO);
	if ((spawn->given & SPAWN_OUT) != 0)
		(void) posix_spawn_file_actions_adddup2(files, spawn->out, STDOUT_FILENO);
	else
		(void) posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if ((spawn->given & SPAWN_IN) != 0)
		(void) posix_spawn_file_actions_adddup2(files, spawn->in, STDIN_FILENO);
	else
		(void) posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void) posix_spawn_file_actions_addclosefrom_np(files, kept + 1);
}

static void set_attributes(const struct spawn *spawn, posix_spawnattr_t *attributes)
{
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	sigset_t none, all;

	(void) sigemptyset(&none);
	(void) sigfillset(&all);
	(void) posix_spawnattr_setsigmask(attributes, &none);
	(void) posix_spawnattr_setsigdefault(attributes, &all);
	if (spawn->own_group)
		flags |= POSIX_SPAWN_SETPGROUP;
	(void) posix_spawnattr_setflags(attributes, flags);
}

int spawn_program(const struct spawn *spawn, pid_t *ret_pid)
{
	AUTO(free) char **args = NULL;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	size_t n = 0;
	int error;

	while (spawn->argv[n] != NULL)
		n++;
	args = xcalloc(n + 1, sizeof(*args));
	for (size_t i = 0; i < n; i++)
		args[i] = (char *) (uintptr_t) spawn->argv[i]; /* posix_spawn() has the const wrong */
	(void) posix_spawn_file_actions_init(&files);
	(void) posix_spawnattr_init(&attributes);
	set_files(spawn, &files);
	set_attributes(spawn, &attributes);
	error = spawn->in_path ? posix_spawnp(ret_pid, args[0], &files, &attributes, args, environ)
	                       : posix_spawn(ret_pid, args[0], &files, &attributes, args, environ);
	(void) posix_spawnattr_destroy(&attributes);
	(void) posix_spawn_file_actions_destroy(&files);
	return -error;
}
