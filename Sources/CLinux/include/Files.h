#ifndef LIVEGATE_FILES_H
#define LIVEGATE_FILES_H

#include <stdint.h>

/// Reads a file from its beginning until its end or until `room` bytes are full, whichever comes first.
///
/// The corresponding C functions are `open` (never as the controlling terminal), `read` and `close`. Blocks.
/// Returns the number of bytes, or a negative errno.
int64_t linux_read_file(const char *path, void *bytes, uint64_t room);

/// The same of a file that is no symbolic link (`O_NOFOLLOW`); a link is ELOOP.
int64_t linux_read_plain_file(const char *path, void *bytes, uint64_t room);

/// Writes all of it. Where the descriptor is non-blocking (a terminal shared with a program that made it so), it waits
/// until there is room. Returns 0 or a negative errno; `taken` is how many bytes were written in either case.
int linux_write_all(int descriptor, const void *bytes, uint64_t count, uint64_t *taken);

/// Fills `bytes` with what nobody can foretell. The corresponding C function is `getrandom`. Returns 0 or a negative errno.
int linux_random(void *bytes, uint64_t count);

#endif
