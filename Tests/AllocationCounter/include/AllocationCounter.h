#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether allocations are counted: not under a sanitizer, which has an allocator of its own.
bool allocations_are_counted(void);

/// How often the calling thread has allocated memory until now.
uint64_t allocations_of_thread(void);

/// How many bytes the block of the allocator holds that begins at an address; 0 where the allocator does not say.
size_t bytes_of_block(const void *block);
