/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in front of libfaketime, which takes the wall clock's offset off each timer that has an
 * absolute time, whatever clock it goes by: an hour ahead, those of CLOCK_BOOTTIME come an hour
 * too soon, and are refused where the machine is not up for as long (EINVAL, a time below 0). A
 * kernel whose wall clock is set leaves them alone.
 */
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *ret_before)
{
	return (int) syscall(SYS_timerfd_settime, fd, flags, when, ret_before);
}
