#pragma once
// Input is read only, and declared so.
#define ZLIB_CONST
#include <zlib.h>

// The two init calls are macros that carry zlib's version, which Swift does not import.
// Negative window bits mean raw deflate data (RFC 1951), which is what RFC 7692 carries.

/// `inflateInit2` for raw data.
static inline int zlib_inflate_init_raw(z_streamp stream, int window_bits) {
    return inflateInit2(stream, -window_bits);
}

/// `deflateInit2` for raw data, with the default strategy.
static inline int zlib_deflate_init_raw(z_streamp stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}
