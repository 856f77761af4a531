#ifndef LIVEGATE_LINUX_PROCESS_H
#define LIVEGATE_LINUX_PROCESS_H

// What a process may use, and what it was given. Functions of `linux_` answer their result, or errno negated.

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/// The cores that this process may run on; the corresponding C function is `sched_getaffinity`.
int linux_usable_cores(void);

// What the process has used, from /proc/self and getrlimit.
struct linux_usage {
    double cpu_seconds;
    // Since 1970, as the wall clock stood when it was asked for first.
    double started_seconds;
    uint64_t resident_bytes;
    uint64_t open_descriptors;
    uint64_t maximum_descriptors;
};
int linux_process_usage(struct linux_usage *usage);

/// Raises the soft limit of RLIMIT_NOFILE to the hard one; both are written. The C functions are `getrlimit`, `setrlimit`.
int linux_raise_descriptor_limit(uint64_t *soft, uint64_t *hard);

/// Bounds how many heaps malloc fills beside each other: one for each core, and one for what is done beside the loops. Before
/// any thread is made; the corresponding C function is `mallopt` with M_ARENA_MAX. Where the environment sets MALLOC_ARENA_MAX
/// or GLIBC_TUNABLES, that counts.
///
/// Without a bound there are eight for each core, and Dispatch, whose threads take turns, fills all of them with the same kind of
/// things. Measured on two cores with three heaps instead of 16: 60,000 connections with TLS left 18.5 MB of private memory
/// instead of 31, and one of 10,000 connections cost 910 bytes instead of 1,045, at the same speed.
int linux_limit_heaps(void);

/// Has the kernel write no core file of this process, whose memory holds tokens and keys, and let no process of the same user
/// read that memory. Until the next `exec`; the corresponding C function is `prctl` with PR_SET_DUMPABLE. Returns 0 or a
/// negative errno.
int linux_forbid_dumps(void);

/// Ignores SIGPIPE, or another signal, process-wide; the corresponding C function is `signal` with SIG_IGN.
int linux_ignore_signal(int number);

/// Catches a signal from now on, for good: each one counts up the descriptor that is returned, of which a signal has 16. The
/// corresponding C functions are `sigaction` with SA_RESTART and `eventfd`.
int linux_watch_signal(int number);

/// Has the signal come since the last call: 1 or 0.
int linux_take_signal(int descriptor);

/// Gives the descriptor back. It stays open, for the next one who watches the signal.
void linux_leave_signal(int number, int descriptor);

/// Writes the C library's sentence for an errno, NUL included; the corresponding C function is `strerror_r`.
void linux_error_text(int code, char *text, uint64_t room);

/// The columns of a terminal, or 0 when the descriptor is none or does not know them. ioctl is variadic in C, which
/// Swift cannot call.
int terminal_columns(int descriptor);

extern char **environ;

/// The variables of the process, `NAME=VALUE` each, with a null behind the last.
static inline char **process_environment(void) { return environ; }

/// One step of `getopt_long`, with the global results read at once: they are variables of the process.
struct get_option_step {
    /// What `getopt_long` returned: −1 at the end, '?' for what it does not know, ':' for a missing value.
    int code;
    /// `optopt`: the value of the option that a '?' or ':' is about; 0 for a long one that is unknown or ambiguous.
    int about;
    /// `optind` after the step.
    int next;
    /// `optarg`, or null.
    const char *argument;
};

/// Takes the next option. `restart` makes glibc forget the command line that it was reading before.
static inline struct get_option_step get_option(int count, char **words, const char *shorts,
                                                const struct option *longs, int restart) {
    if (restart) optind = 0;
    opterr = 0;
    optarg = NULL;
    struct get_option_step step;
    step.code = getopt_long(count, words, shorts, longs, NULL);
    step.about = optopt;
    step.next = optind;
    step.argument = optarg;
    return step;
}

/// Takes the word that comes next as belonging to the option just read.
static inline void get_option_take_word(void) { optind += 1; }

#endif
