#ifndef LIVEGATE_LINUX_POLL_H
#define LIVEGATE_LINUX_POLL_H

// epoll, eventfd-like pipes and descriptors. Every function answers its result, or errno negated, as the kernel does:
// the caller never reads errno, which belongs to a thread that a queue may leave at any time.

#include <stdint.h>

/// The corresponding C function is `epoll_create1` with EPOLL_CLOEXEC.
int linux_epoll_create(void);

/// What `linux_epoll_control` does with the descriptor.
enum { LINUX_EPOLL_ADD = 1, LINUX_EPOLL_REMOVE = 2, LINUX_EPOLL_MODIFY = 3 };

/// What is waited for and what came. Errors and hang-ups come as both: whoever reads or writes learns it from that call.
enum { LINUX_POLL_READ = 1, LINUX_POLL_WRITE = 2 };

/// The corresponding C function is `epoll_ctl`, level-triggered.
int linux_epoll_control(int epoll, int operation, int descriptor, uint32_t interest, uint64_t token);

/// The corresponding C function is `epoll_wait` with a time-out of 0. Fills at most `maximum` (256 at the most).
int linux_epoll_take(int epoll, uint64_t *tokens, uint32_t *events, int maximum);

/// Has the other side hung up, or is there an error: 1 or 0. The corresponding C function is `poll`, without waiting.
int linux_is_hung_up(int descriptor);

/// The corresponding C function is `close`.
int linux_close(int descriptor);

/// The corresponding C function is `fcntl` with F_DUPFD_CLOEXEC.
int linux_duplicate(int descriptor);

/// The corresponding C function is `pipe2` with O_CLOEXEC and O_NONBLOCK.
int linux_pipe(int *reading, int *writing);

/// The corresponding C function is `open` of /dev/null: a descriptor kept for bad times.
int linux_open_spare(void);

/// The corresponding C function is `read`.
int64_t linux_read(int descriptor, void *bytes, uint64_t count);

/// The corresponding C function is `write`.
int64_t linux_write(int descriptor, const void *bytes, uint64_t count);

/// Milliseconds of CLOCK_MONOTONIC.
uint64_t linux_monotonic_milliseconds(void);

/// Microseconds of CLOCK_MONOTONIC: how long a turn of a loop has lasted.
uint64_t linux_monotonic_microseconds(void);

/* Milliseconds since 1970, as the machine's clock has it. */
int64_t linux_wall_clock_milliseconds(void);

#endif
