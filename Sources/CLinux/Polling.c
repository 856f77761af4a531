#define _GNU_SOURCE
#include "Polling.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

int linux_epoll_create(void) {
    int descriptor = epoll_create1(EPOLL_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int linux_epoll_control(int epoll, int operation, int descriptor, uint32_t interest, uint64_t token) {
    static const int operations[] = {0, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD};
    struct epoll_event event = {0};
    if (interest & LINUX_POLL_READ) event.events |= EPOLLIN;
    if (interest & LINUX_POLL_WRITE) event.events |= EPOLLOUT;
    event.data.u64 = token;
    return epoll_ctl(epoll, operations[operation], descriptor, &event) < 0 ? -errno : 0;
}

int linux_epoll_take(int epoll, uint64_t *tokens, uint32_t *events, int maximum) {
    enum { LARGEST_BATCH = 256 };
    struct epoll_event taken[LARGEST_BATCH];
    if (maximum > LARGEST_BATCH) maximum = LARGEST_BATCH;
    int count = epoll_wait(epoll, taken, maximum, 0);
    if (count < 0) return -errno;
    for (int i = 0; i < count; i++) {
        uint32_t bits = 0;
        if (taken[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) bits |= LINUX_POLL_READ;
        if (taken[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) bits |= LINUX_POLL_WRITE;
        tokens[i] = taken[i].data.u64;
        events[i] = bits;
    }
    return count;
}

int linux_is_hung_up(int descriptor) {
    struct pollfd watched = {.fd = descriptor, .events = 0};
    return poll(&watched, 1, 0) > 0;
}

int linux_close(int descriptor) {
    return close(descriptor) < 0 ? -errno : 0;
}

int linux_duplicate(int descriptor) {
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? -errno : copy;
}

int linux_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

int linux_open_spare(void) {
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int64_t linux_read(int descriptor, void *bytes, uint64_t count) {
    ssize_t taken = read(descriptor, bytes, count);
    return taken < 0 ? -errno : taken;
}

int64_t linux_write(int descriptor, const void *bytes, uint64_t count) {
    ssize_t taken = write(descriptor, bytes, count);
    return taken < 0 ? -errno : taken;
}

uint64_t linux_monotonic_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t linux_monotonic_microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int64_t linux_wall_clock_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + (int64_t)now.tv_nsec / 1000000;
}
