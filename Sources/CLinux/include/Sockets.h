#ifndef LIVEGATE_LINUX_SOCKETS_H
#define LIVEGATE_LINUX_SOCKETS_H

// Sockets, with addresses as a flat struct so that no caller lays out a sockaddr. Every function answers its result,
// or errno negated.

#include <stdint.h>
#include <sys/uio.h>

enum { LINUX_FAMILY_OTHER = 0, LINUX_FAMILY_IPV4 = 1, LINUX_FAMILY_IPV6 = 2, LINUX_FAMILY_UNIX = 3 };

/// The longest path of a Unix socket in bytes: sun_path without its closing NUL.
enum { LINUX_UNIX_PATH_MAXIMUM = 107 };

/// An address without its path. IPv4 stands in the lower 32 bits of `low`, both in host order.
typedef struct {
    int32_t family;
    uint32_t scope;
    uint64_t high;
    uint64_t low;
    uint16_t port;
} linux_address;

/// The corresponding C function is `socket`: a stream socket, non-blocking, closed on exec.
int linux_socket(int family);

/// The corresponding C function is `bind`. `path` counts for Unix sockets only and needs no NUL.
int linux_bind(int descriptor, const linux_address *address, const uint8_t *path, int path_length);

/// The corresponding C function is `connect`.
int linux_connect(int descriptor, const linux_address *address, const uint8_t *path, int path_length);

/// The corresponding C function is `listen`.
int linux_listen(int descriptor, int backlog);

/// The corresponding C function is `accept4`: the new socket is non-blocking and closed on exec.
int linux_accept(int descriptor, linux_address *peer);

/// The corresponding C function is `getsockname`.
int linux_local_address(int descriptor, linux_address *address);

/// The corresponding C function is `getpeername`.
int linux_peer_address(int descriptor, linux_address *address);

/// The corresponding C function is `recv`.
int64_t linux_receive(int descriptor, void *bytes, uint64_t count);

/// The corresponding C function is `send` with MSG_NOSIGNAL: a lost peer is EPIPE and never a SIGPIPE.
int64_t linux_send(int descriptor, const void *bytes, uint64_t count);

/// The corresponding C function is `sendmsg` with MSG_NOSIGNAL.
int64_t linux_send_vector(int descriptor, struct iovec *pieces, int count);

/// The corresponding C function is `shutdown` with SHUT_WR.
int linux_shutdown_writing(int descriptor);

/// The options that this project sets, each a row of a table: SOL_SOCKET, IPPROTO_TCP and IPPROTO_IPV6.
enum {
    LINUX_OPTION_REUSE_ADDRESS,
    LINUX_OPTION_REUSE_PORT,
    LINUX_OPTION_NO_DELAY,
    LINUX_OPTION_V6_ONLY,
    LINUX_OPTION_KEEP_ALIVE,
    LINUX_OPTION_KEEP_ALIVE_IDLE,
    LINUX_OPTION_KEEP_ALIVE_INTERVAL,
    LINUX_OPTION_KEEP_ALIVE_COUNT,
    LINUX_OPTION_USER_TIMEOUT,
    LINUX_OPTION_SEND_BUFFER,
    LINUX_OPTION_RECEIVE_BUFFER,
    LINUX_OPTION_ERROR
};

/// The corresponding C function is `setsockopt`.
int linux_set_option(int descriptor, int option, int value);

/// The corresponding C function is `getsockopt`.
int linux_get_option(int descriptor, int option, int *value);

/// SO_LINGER with a time of 0: `close` resets the connection, and the kernel keeps none of its unsent bytes.
int linux_reset_on_close(int descriptor);

/// Reads a numeric IPv4 or IPv6 address (`inet_pton`); 0 or -EINVAL. `text` ends with NUL.
int linux_parse_address(int family, const char *text, linux_address *address);

/// Writes a numeric address without port (`inet_ntop`) and answers its length. `text` has room for 64 bytes.
int linux_print_address(const linux_address *address, char *text);

/// The corresponding C function is `getaddrinfo`, for stream sockets; blocks. Answers how many of `maximum` were
/// found, or an EAI code (below zero); `EAI_SYSTEM` leaves errno in `system`.
int linux_resolve(const char *host, uint16_t port, linux_address *found, int maximum, int *system);

/// The sentence for an EAI code.
const char *linux_resolve_reason(int code);

/// Is there a file, is it a socket, and which: 1 a socket, 0 another file, or -errno. The C function is `lstat`.
int linux_socket_file(const char *path, uint64_t *device, uint64_t *node);

/// The number of an open socket or pipe, unlike that of any other: 1, 0 for other files, or -errno. The C function is
/// `fstat`.
int linux_socket_number(int descriptor, uint64_t *node);

/// The corresponding C function is `unlink`.
int linux_unlink(const char *path);

/// Opens a directory and takes `flock` with LOCK_EX and LOCK_NB; the descriptor, or -EWOULDBLOCK while another has it.
int linux_lock_directory(const char *path);

#endif
