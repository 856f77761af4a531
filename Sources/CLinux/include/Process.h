#ifndef LIVEGATE_LINUX_PROCESS_H
#define LIVEGATE_LINUX_PROCESS_H

// What a process may use. Every function answers its result, or errno negated.

#include <stdint.h>

/// The cores that this process may run on; the corresponding C function is `sched_getaffinity`.
int linux_usable_cores(void);

/// Raises the soft limit of RLIMIT_NOFILE to the hard one; both are written. The C functions are `getrlimit`, `setrlimit`.
int linux_raise_descriptor_limit(uint64_t *soft, uint64_t *hard);

/// Ignores SIGPIPE, or another signal, process-wide; the corresponding C function is `signal` with SIG_IGN.
int linux_ignore_signal(int number);

/// Catches a signal from now on: it only leaves a mark. The corresponding C function is `sigaction` with SA_RESTART.
int linux_catch_signal(int number);

/// Was the signal caught since the last call: 1 or 0.
int linux_take_signal(int number);

/// Writes the C library's sentence for an errno, NUL included; the corresponding C function is `strerror_r`.
void linux_error_text(int code, char *text, uint64_t room);

#endif
