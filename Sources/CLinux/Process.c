#define _GNU_SOURCE
#include "Process.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

int linux_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0) == 0 ? 0 : -errno; }

int linux_usable_cores(void) {
    // The kernel refuses a set smaller than its own with EINVAL, so the set grows up to 64 Ki cores.
    for (int cores = 1024; cores <= 65536; cores *= 2) {
        cpu_set_t *set = CPU_ALLOC(cores);
        if (!set) return -ENOMEM;
        int failed = sched_getaffinity(0, CPU_ALLOC_SIZE(cores), set) < 0 ? errno : 0;
        int count = failed ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE(cores), set);
        CPU_FREE(set);
        if (!failed) return count;
        if (failed != EINVAL) return -failed;
    }
    return -EINVAL;
}

int linux_raise_descriptor_limit(uint64_t *soft, uint64_t *hard) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
    *soft = limit.rlim_cur;
    *hard = limit.rlim_max;
    if (limit.rlim_cur == limit.rlim_max) return 0;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
    *soft = limit.rlim_cur;
    return 0;
}

int linux_limit_heaps(void) {
    // Who sets it has a reason.
    if (getenv("MALLOC_ARENA_MAX") || getenv("GLIBC_TUNABLES")) return 0;
    int cores = linux_usable_cores();
    return mallopt(M_ARENA_MAX, (cores > 0 ? cores : 1) + 1) == 1 ? 0 : -EINVAL;
}

static int first_line(const char *path, char *text, size_t room) {
    FILE *file = fopen(path, "re");
    if (!file) return -errno;
    int failed = fgets(text, (int)room, file) ? 0 : -EIO;
    fclose(file);
    return failed;
}

// The folder says how many it has from Linux 6.2 on. Before that it is read, which takes a microsecond for each of them: with
// 10,000 connections, 11 ms of every scrape.
static uint64_t open_descriptors(void) {
    struct stat size;
    if (stat("/proc/self/fd", &size) == 0 && size.st_size > 0) return (uint64_t)size.st_size;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return 0;
    uint64_t count = 0;
    while (readdir(folder)) count++;
    closedir(folder);
    // Without `.`, `..`, and the descriptor that reads the folder.
    return count > 3 ? count - 3 : 0;
}

// Since 1970, reckoned once: the wall clock may be set and drifts, and a start does not move. In microseconds, 0 before that.
static double started_seconds(double after_boot) {
    static _Atomic uint64_t kept;
    struct timespec wall, boot;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    double now = (double)wall.tv_sec - (double)boot.tv_sec + (double)(wall.tv_nsec - boot.tv_nsec) / 1e9 + after_boot;
    uint64_t none = 0, found = now > 0 ? (uint64_t)(now * 1e6) : 1;
    return (double)(atomic_compare_exchange_strong(&kept, &none, found) ? found : none) / 1e6;
}

int linux_process_usage(struct linux_usage *usage) {
    memset(usage, 0, sizeof *usage);
    char text[1024];
    int answer = first_line("/proc/self/stat", text, sizeof text);
    if (answer < 0) return answer;
    // The name of the program, in parentheses, may hold anything.
    char *rest = strrchr(text, ')');
    unsigned long long user = 0, system = 0, start = 0;
    if (!rest || sscanf(rest + 1,
                        " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu", &user,
                        &system, &start) != 3)
        return -EIO;
    long ticks = sysconf(_SC_CLK_TCK);
    usage->cpu_seconds = (double)(user + system) / (double)ticks;
    unsigned long long pages = 0;
    if ((answer = first_line("/proc/self/statm", text, sizeof text)) < 0) return answer;
    if (sscanf(text, "%*u %llu", &pages) != 1) return -EIO;
    usage->resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    usage->open_descriptors = open_descriptors();
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
    usage->maximum_descriptors = limit.rlim_cur;
    usage->started_seconds = started_seconds((double)start / (double)ticks);
    return 0;
}

int linux_ignore_signal(int number) {
    return signal(number, SIG_IGN) == SIG_ERR ? -errno : 0;
}

enum { SIGNALS = 65, WATCHES = 16 };

/// Descriptors that a signal counts up: made once, never closed, since a handler may write to one at any time.
typedef struct {
    atomic_int descriptor_plus_one;
    atomic_int taken;
} signal_watch;

static signal_watch watches[SIGNALS][WATCHES];

static void tell(int number) {
    int before = errno;
    uint64_t one = 1;
    for (int index = 0; number > 0 && number < SIGNALS && index < WATCHES; index++) {
        int descriptor = atomic_load(&watches[number][index].descriptor_plus_one) - 1;
        // A count that is full has told already.
        if (descriptor >= 0 && write(descriptor, &one, sizeof one) < 0) continue;
    }
    errno = before;
}

int linux_watch_signal(int number) {
    if (number <= 0 || number >= SIGNALS) return -EINVAL;
    for (int index = 0; index < WATCHES; index++) {
        signal_watch *watch = &watches[number][index];
        if (atomic_exchange(&watch->taken, 1)) continue;
        int descriptor = atomic_load(&watch->descriptor_plus_one) - 1;
        if (descriptor < 0) {
            descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
            if (descriptor < 0) {
                atomic_store(&watch->taken, 0);
                return -errno;
            }
            atomic_store(&watch->descriptor_plus_one, descriptor + 1);
        }
        linux_take_signal(descriptor);
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = tell;
        action.sa_flags = SA_RESTART;
        if (sigaction(number, &action, NULL) == 0) return descriptor;
        atomic_store(&watch->taken, 0);
        return -errno;
    }
    return -EBUSY;
}

int linux_take_signal(int descriptor) {
    uint64_t count = 0;
    return read(descriptor, &count, sizeof count) == sizeof count;
}

void linux_leave_signal(int number, int descriptor) {
    for (int index = 0; number > 0 && number < SIGNALS && index < WATCHES; index++) {
        signal_watch *watch = &watches[number][index];
        if (atomic_load(&watch->descriptor_plus_one) == descriptor + 1) atomic_store(&watch->taken, 0);
    }
}

void linux_error_text(int code, char *text, uint64_t room) {
    // The GNU form answers a pointer that may or may not be the room it was given.
    char scratch[128];
    snprintf(text, room, "%s", strerror_r(code, scratch, sizeof scratch));
}

int terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
