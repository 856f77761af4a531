// Preloaded: counts what a program holds of the memory that it asked the C library for, in the file that TEST_HOLDINGS names.
//
// Pages say less: the allocator keeps those of what was freed, and how many depends on the order in which things came and went.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct holdings {
    _Atomic int64_t blocks, bytes;
};

static struct holdings before_the_file;
static struct holdings *held = &before_the_file;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static void add(int64_t blocks, int64_t bytes) {
    atomic_fetch_add_explicit(&held->blocks, blocks, memory_order_relaxed);
    atomic_fetch_add_explicit(&held->bytes, bytes, memory_order_relaxed);
}

static void *given(void *block) {
    if (block) add(1, (int64_t)malloc_usable_size(block));
    return block;
}

void *malloc(size_t size) { return given(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return given(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return given(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return given(__libc_memalign(alignment, size)); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *block = given(__libc_memalign(alignment, size));
    if (!block) return ENOMEM;
    *result = block;
    return 0;
}

void *realloc(void *block, size_t size) {
    int64_t before = block ? (int64_t)malloc_usable_size(block) : 0;
    void *moved = __libc_realloc(block, size);
    // A size of 0 frees the block; what cannot grow stays.
    if (moved || size == 0) add(-(block != NULL), -before);
    return given(moved);
}

void free(void *block) {
    if (block) add(-1, -(int64_t)malloc_usable_size(block));
    __libc_free(block);
}

__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("TEST_HOLDINGS");
    int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    struct holdings *mapped =
        mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped == MAP_FAILED) return;
    // No other thread runs yet.
    mapped->blocks = before_the_file.blocks;
    mapped->bytes = before_the_file.bytes;
    held = mapped;
}
