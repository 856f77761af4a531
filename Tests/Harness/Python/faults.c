// Stands before the calls of a program that preloads it, and does to them what a plan says that the test writes into a
// file which both have mapped (faults.py). C, because nothing else comes before a program's own calls.
//
// Only calls out of chosen code are failed: those of the program itself, or of one library. Dispatch, for one, ends the
// process when a call of its own fails that cannot.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// As faults.py lays it out.
struct plan {
    _Atomic int64_t armed;
    // Which calls, by their names with blanks around each, and out of whose code: a part of the library's path, empty for
    // the program's own.
    char calls[256];
    char library[64];
    int64_t code;
    // Of the calls with a descriptor, those with this one only; -1: all.
    int64_t descriptor;
    // None of the calls with this one.
    int64_t spared;
    // The first call that fails, from 1, and how many do from there on.
    int64_t nth;
    int64_t repeats;
    // A write that is the first to fail takes half of it before.
    int64_t halves;
    _Atomic int64_t made;
    _Atomic int64_t struck;
    // What the wall clock is ahead.
    _Atomic int64_t ahead_seconds;
};

static struct plan *plan;

__attribute__((constructor)) static void map_plan(void) {
    const char *path = getenv("TEST_FAULTS_PLAN");
    int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED) plan = mapped;
}

static int is_named(const char *name) {
    char word[40] = " ";
    if (strlen(name) > sizeof word - 3) return 0;
    strcat(strcat(word, name), " ");
    return strstr(plan->calls, word) != NULL;
}

static int is_chosen(void *caller) {
    struct dl_find_object found;
    if (_dl_find_object(caller, &found) != 0) return 0;
    const char *name = found.dlfo_link_map->l_name;
    return plan->library[0] ? strstr(name, plan->library) != NULL : name[0] == 0;
}

// Whether this call fails; the first one is 1.
static int64_t strikes(const char *name, int descriptor, void *caller) {
    if (!plan || !atomic_load_explicit(&plan->armed, memory_order_acquire)) return 0;
    if (plan->descriptor >= 0 && plan->descriptor != descriptor) return 0;
    if (descriptor >= 0 && plan->spared == descriptor) return 0;
    if (!is_named(name) || !is_chosen(caller)) return 0;
    int64_t number = atomic_fetch_add(&plan->made, 1) + 1;
    if (number < plan->nth || number - plan->nth >= plan->repeats) return 0;
    errno = (int)plan->code;
    return atomic_fetch_add(&plan->struck, 1) + 1;
}

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

// A call that answers -1 with errno.
#define FAILING(answer, name, parameters, arguments, descriptor) \
    answer name parameters { \
        NEXT(name); \
        if (strikes(#name, descriptor, __builtin_return_address(0))) return -1; \
        return next arguments; \
    }

FAILING(int, accept4, (int fd, __SOCKADDR_ARG address, socklen_t *length, int flags), (fd, address, length, flags), fd)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
FAILING(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t length), (fd, address, length), fd)
FAILING(ssize_t, recv, (int fd, void *bytes, size_t count, int flags), (fd, bytes, count, flags), fd)
FAILING(ssize_t, send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags), fd)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), fd)
FAILING(int, shutdown, (int fd, int how), (fd, how), fd)
// Where Dispatch is linked into the program, its calls come out of the program's code. Its epoll descriptor is known by what it
// alone asks for: one event at a time.
static _Atomic int dispatchs = -1;

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    NEXT(epoll_ctl);
    if (event && event->events & EPOLLONESHOT) dispatchs = epoll;
    if (epoll != dispatchs && strikes("epoll_ctl", fd, __builtin_return_address(0))) return -1;
    return next(epoll, operation, fd, event);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int limit) {
    NEXT(epoll_wait);
    if (epoll != dispatchs && strikes("epoll_wait", epoll, __builtin_return_address(0))) return -1;
    return next(epoll, events, most, limit);
}

FAILING(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *length), (fd, level, name, value, length), fd)
FAILING(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t length),
        (fd, level, name, value, length), fd)
FAILING(int, getsockname, (int fd, __SOCKADDR_ARG address, socklen_t *length), (fd, address, length), fd)
FAILING(ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count), fd)
FAILING(int, fstat, (int fd, struct stat *status), (fd, status), fd)
FAILING(int, stat, (const char *path, struct stat *status), (path, status), -1)
FAILING(int, poll, (struct pollfd *watched, nfds_t count, int limit), (watched, count, limit), -1)
FAILING(int, pipe2, (int ends[2], int flags), (ends, flags), -1)

ssize_t write(int fd, const void *bytes, size_t count) {
    NEXT(write);
    int64_t number = strikes("write", fd, __builtin_return_address(0));
    if (number == 1 && plan->halves) {
        // Never whole lines.
        size_t half = count / 2;
        return next(fd, bytes, half && ((const char *)bytes)[half - 1] == '\n' ? half - 1 : half);
    }
    return number ? -1 : next(fd, bytes, count);
}

int open(const char *path, int flags, ...) {
    NEXT(open);
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return strikes("open", -1, __builtin_return_address(0)) ? -1 : next(path, flags, mode);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *form, void *(*begin)(void *), void *argument) {
    NEXT(pthread_create);
    return strikes("pthread_create", -1, __builtin_return_address(0)) ? EAGAIN : next(thread, form, begin, argument);
}

// Memory

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);

void *malloc(size_t size) {
    return strikes("malloc", -1, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return strikes("malloc", -1, __builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
    return size && strikes("malloc", -1, __builtin_return_address(0)) ? NULL : __libc_realloc(pointer, size);
}

// libcrypto gives out of its own code what others ask it for, so that libssl, which asks at each record, would count as libcrypto.
void *CRYPTO_zalloc(size_t size, const char *file, int line) {
    (void)file, (void)line;
    if (size == 0 || strikes("malloc", -1, __builtin_return_address(0))) return NULL;
    return __libc_calloc(1, size);
}

char *strdup(const char *text) {
    if (strikes("malloc", -1, __builtin_return_address(0))) return NULL;
    size_t count = strlen(text) + 1;
    char *copy = __libc_malloc(count);
    return copy ? memcpy(copy, text, count) : NULL;
}

// `new (std::nothrow)` of C++, of one and of many.
#define NEW(name) \
    void *name(size_t size, const void *nothrow) { \
        (void)nothrow; \
        return strikes("malloc", -1, __builtin_return_address(0)) ? NULL : __libc_malloc(size ? size : 1); \
    }

NEW(_ZnwmRKSt9nothrow_t)
NEW(_ZnamRKSt9nothrow_t)

// The wall clock

static int64_t ahead(void) { return plan ? atomic_load_explicit(&plan->ahead_seconds, memory_order_relaxed) : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime);
    int status = next(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
    return status;
}

int timespec_get(struct timespec *now, int base) { return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0; }

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec time;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *room) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (room) *room = now.tv_sec;
    return now.tv_sec;
}

// Who waits until a time of the wall clock waits until the clock says so, however it has been set meanwhile: in slices,
// because the kernel's clock was not set.
enum { SLICE_NANOSECONDS = 20 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };

// The kernel's time at which to look again; false when `end` has come.
static int next_slice(const struct timespec *end, struct timespec *slice) {
    clock_gettime(CLOCK_REALTIME, slice);
    int64_t left = (end->tv_sec - slice->tv_sec) * (int64_t)SECOND + (end->tv_nsec - slice->tv_nsec);
    if (end->tv_sec - slice->tv_sec > 1) left = SECOND;
    if (left <= 0) return 0;
    slice->tv_sec -= ahead();
    slice->tv_nsec += left < SLICE_NANOSECONDS ? left : SLICE_NANOSECONDS;
    if (slice->tv_nsec >= SECOND) {
        slice->tv_sec++;
        slice->tv_nsec -= SECOND;
    }
    return 1;
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *end) {
    NEXT(cnd_timedwait);
    struct timespec slice;
    while (next_slice(end, &slice)) {
        int status = next(condition, mutex, &slice);
        if (status != thrd_timedout) return status;
    }
    return thrd_timedout;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
    NEXT(sem_timedwait);
    struct timespec slice;
    while (next_slice(end, &slice)) {
        if (next(semaphore, &slice) == 0) return 0;
        if (errno != ETIMEDOUT) return -1;
    }
    errno = ETIMEDOUT;
    return -1;
}
