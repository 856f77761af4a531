// Preloaded: ends the process with SIGKILL at its n-th call, of those that change a file and those that run a statement.
//
//   TEST_KILL_AT     n, from 1
//   TEST_KILL_HALF   1: a write is done by half first
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long made;

/// Whether this call is the last one.
static int is_last(void) {
    const char *at = getenv("TEST_KILL_AT");
    return at && atomic_fetch_add(&made, 1) + 1 == atol(at);
}

static void end(void) { kill(getpid(), SIGKILL); }

static int halves(void) {
    const char *half = getenv("TEST_KILL_HALF");
    return half && *half == '1';
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    if (is_last()) {
        if (halves()) REAL(pwrite64)(descriptor, bytes, count / 2, offset);
        end();
    }
    return REAL(pwrite64)(descriptor, bytes, count, offset);
}

int fsync(int descriptor) {
    if (is_last()) end();
    return REAL(fsync)(descriptor);
}

int fdatasync(int descriptor) {
    if (is_last()) end();
    return REAL(fdatasync)(descriptor);
}

int ftruncate64(int descriptor, off64_t length) {
    if (is_last()) end();
    return REAL(ftruncate64)(descriptor, length);
}

int unlink(const char *path) {
    if (is_last()) end();
    return REAL(unlink)(path);
}

struct sqlite3_stmt;
int sqlite3_step(struct sqlite3_stmt *statement);

int sqlite3_step(struct sqlite3_stmt *statement) {
    if (is_last()) end();
    return REAL(sqlite3_step)(statement);
}
