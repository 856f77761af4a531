// Stands before glibc's allocator in the process of the tests, and counts for each thread.
#include "AllocationCounter.h"

#include <stddef.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);

// In the executable itself, so that reading it needs no allocation.
static _Thread_local uint64_t allocations __attribute__((tls_model("initial-exec")));

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size) {
    allocations++;
    return __libc_realloc(pointer, size);
}

bool allocations_are_counted(void) { return true; }
uint64_t allocations_of_thread(void) { return allocations; }

#else

bool allocations_are_counted(void) { return false; }
uint64_t allocations_of_thread(void) { return 0; }

#endif

#ifdef __GLIBC__
size_t bytes_of_block(const void *block) { return malloc_usable_size((void *)block); }
#else
size_t bytes_of_block(const void *block) { return 0; }
#endif
