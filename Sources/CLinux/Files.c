#include "Files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

static int64_t read_file(const char *path, int flags, void *bytes, uint64_t room) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    if (descriptor < 0) return -errno;
    uint64_t filled = 0;
    int64_t failure = 0;
    while (filled < room) {
        ssize_t count = read(descriptor, (char *)bytes + filled, room - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) failure = -errno;
        if (count <= 0) break;
        filled += (uint64_t)count;
    }
    close(descriptor);
    return failure ? failure : (int64_t)filled;
}

int64_t linux_read_file(const char *path, void *bytes, uint64_t room) { return read_file(path, 0, bytes, room); }

int64_t linux_read_plain_file(const char *path, void *bytes, uint64_t room) {
    return read_file(path, O_NOFOLLOW, bytes, room);
}

int linux_write_all(int descriptor, const void *bytes, uint64_t count, uint64_t *taken) {
    const char *next = bytes;
    const char *end = next + count;
    *taken = 0;
    while (next < end) {
        ssize_t written = write(descriptor, next, (size_t)(end - next));
        if (written >= 0) {
            next += written;
            *taken += (uint64_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd watched = {.fd = descriptor, .events = POLLOUT};
            poll(&watched, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int linux_random(void *bytes, uint64_t count) {
    uint64_t filled = 0;
    while (filled < count) {
        // More than 256 bytes may come in parts.
        ssize_t more = getrandom((char *)bytes + filled, count - filled, 0);
        if (more >= 0) {
            filled += (uint64_t)more;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}
