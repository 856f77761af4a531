/// The files of the demo's page and of the JavaScript module that it uses, as they stand in the tree, inside the binary.
#ifndef DEMO_PAGE_H
#define DEMO_PAGE_H

#include <stddef.h>

/// One file, as long as the process lives.
struct demo_file {
    /// Where it is served, with a slash before it; ends with a zero.
    const char *path;
    const unsigned char *bytes;
    size_t count;
};

/// How many files there are.
size_t demo_file_count(void);

/// The file of this number, below that count.
struct demo_file demo_file_at(size_t index);

#endif
