#define _GNU_SOURCE
#include "Sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union any_address {
    struct sockaddr plain;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    struct sockaddr_un local;
    struct sockaddr_storage storage;
};

static int domain_of(int family) {
    return family == LINUX_FAMILY_IPV4 ? AF_INET : family == LINUX_FAMILY_IPV6 ? AF_INET6 : AF_UNIX;
}

static void put_halves(uint8_t *bytes, uint64_t high, uint64_t low) {
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(high >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
}

static void take_halves(const uint8_t *bytes, uint64_t *high, uint64_t *low) {
    *high = *low = 0;
    for (int i = 0; i < 8; i++) {
        *high = *high << 8 | bytes[i];
        *low = *low << 8 | bytes[8 + i];
    }
}

static socklen_t lay_out(union any_address *raw, const linux_address *address, const uint8_t *path, int length) {
    memset(raw, 0, sizeof *raw);
    switch (address->family) {
    case LINUX_FAMILY_IPV4:
        raw->ipv4.sin_family = AF_INET;
        raw->ipv4.sin_port = htons(address->port);
        raw->ipv4.sin_addr.s_addr = htonl((uint32_t)address->low);
        return sizeof raw->ipv4;
    case LINUX_FAMILY_IPV6:
        raw->ipv6.sin6_family = AF_INET6;
        raw->ipv6.sin6_port = htons(address->port);
        raw->ipv6.sin6_scope_id = address->scope;
        put_halves(raw->ipv6.sin6_addr.s6_addr, address->high, address->low);
        return sizeof raw->ipv6;
    case LINUX_FAMILY_UNIX:
        if (length < 1 || length > LINUX_UNIX_PATH_MAXIMUM) return 0;
        raw->local.sun_family = AF_UNIX;
        memcpy(raw->local.sun_path, path, (size_t)length);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 1);
    default:
        return 0;
    }
}

static void read_back(const union any_address *raw, linux_address *address) {
    memset(address, 0, sizeof *address);
    switch (raw->plain.sa_family) {
    case AF_INET:
        address->family = LINUX_FAMILY_IPV4;
        address->port = ntohs(raw->ipv4.sin_port);
        address->low = ntohl(raw->ipv4.sin_addr.s_addr);
        return;
    case AF_INET6:
        address->family = LINUX_FAMILY_IPV6;
        address->port = ntohs(raw->ipv6.sin6_port);
        address->scope = raw->ipv6.sin6_scope_id;
        take_halves(raw->ipv6.sin6_addr.s6_addr, &address->high, &address->low);
        return;
    case AF_UNIX:
        address->family = LINUX_FAMILY_UNIX;
        return;
    }
}

int linux_socket(int family) {
    int descriptor = socket(domain_of(family), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return descriptor < 0 ? -errno : descriptor;
}

int linux_bind(int descriptor, const linux_address *address, const uint8_t *path, int path_length) {
    union any_address raw;
    socklen_t length = lay_out(&raw, address, path, path_length);
    if (length == 0) return -EINVAL;
    return bind(descriptor, &raw.plain, length) < 0 ? -errno : 0;
}

int linux_connect(int descriptor, const linux_address *address, const uint8_t *path, int path_length) {
    union any_address raw;
    socklen_t length = lay_out(&raw, address, path, path_length);
    if (length == 0) return -EINVAL;
    return connect(descriptor, &raw.plain, length) < 0 ? -errno : 0;
}

int linux_listen(int descriptor, int backlog) {
    return listen(descriptor, backlog) < 0 ? -errno : 0;
}

int linux_accept(int descriptor, linux_address *peer) {
    union any_address raw;
    socklen_t length = sizeof raw;
    memset(&raw, 0, sizeof raw);
    int accepted = accept4(descriptor, &raw.plain, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) return -errno;
    read_back(&raw, peer);
    return accepted;
}

int linux_local_address(int descriptor, linux_address *address) {
    union any_address raw;
    socklen_t length = sizeof raw;
    memset(&raw, 0, sizeof raw);
    if (getsockname(descriptor, &raw.plain, &length) < 0) return -errno;
    read_back(&raw, address);
    return 0;
}

int linux_peer_address(int descriptor, linux_address *address) {
    union any_address raw;
    socklen_t length = sizeof raw;
    memset(&raw, 0, sizeof raw);
    if (getpeername(descriptor, &raw.plain, &length) < 0) return -errno;
    read_back(&raw, address);
    return 0;
}

int64_t linux_receive(int descriptor, void *bytes, uint64_t count) {
    ssize_t taken = recv(descriptor, bytes, count, 0);
    return taken < 0 ? -errno : taken;
}

int64_t linux_send(int descriptor, const void *bytes, uint64_t count) {
    ssize_t taken = send(descriptor, bytes, count, MSG_NOSIGNAL);
    return taken < 0 ? -errno : taken;
}

int64_t linux_send_vector(int descriptor, struct iovec *pieces, int count) {
    struct msghdr message = {0};
    message.msg_iov = pieces;
    message.msg_iovlen = (size_t)count;
    ssize_t taken = sendmsg(descriptor, &message, MSG_NOSIGNAL);
    return taken < 0 ? -errno : taken;
}

int linux_shutdown_writing(int descriptor) {
    return shutdown(descriptor, SHUT_WR) < 0 ? -errno : 0;
}

static const struct { int level, name; } options[] = {
    [LINUX_OPTION_REUSE_ADDRESS] = {SOL_SOCKET, SO_REUSEADDR},
    [LINUX_OPTION_REUSE_PORT] = {SOL_SOCKET, SO_REUSEPORT},
    [LINUX_OPTION_NO_DELAY] = {IPPROTO_TCP, TCP_NODELAY},
    [LINUX_OPTION_V6_ONLY] = {IPPROTO_IPV6, IPV6_V6ONLY},
    [LINUX_OPTION_KEEP_ALIVE] = {SOL_SOCKET, SO_KEEPALIVE},
    [LINUX_OPTION_KEEP_ALIVE_IDLE] = {IPPROTO_TCP, TCP_KEEPIDLE},
    [LINUX_OPTION_KEEP_ALIVE_INTERVAL] = {IPPROTO_TCP, TCP_KEEPINTVL},
    [LINUX_OPTION_KEEP_ALIVE_COUNT] = {IPPROTO_TCP, TCP_KEEPCNT},
    [LINUX_OPTION_USER_TIMEOUT] = {IPPROTO_TCP, TCP_USER_TIMEOUT},
    [LINUX_OPTION_SEND_BUFFER] = {SOL_SOCKET, SO_SNDBUF},
    [LINUX_OPTION_RECEIVE_BUFFER] = {SOL_SOCKET, SO_RCVBUF},
    [LINUX_OPTION_ERROR] = {SOL_SOCKET, SO_ERROR},
};

int linux_set_option(int descriptor, int option, int value) {
    return setsockopt(descriptor, options[option].level, options[option].name, &value, sizeof value) < 0 ? -errno : 0;
}

int linux_get_option(int descriptor, int option, int *value) {
    socklen_t length = sizeof *value;
    return getsockopt(descriptor, options[option].level, options[option].name, value, &length) < 0 ? -errno : 0;
}

int linux_reset_on_close(int descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0 ? -errno : 0;
}

int linux_parse_address(int family, const char *text, linux_address *address) {
    union any_address raw;
    memset(&raw, 0, sizeof raw);
    raw.plain.sa_family = (sa_family_t)domain_of(family);
    void *place = family == LINUX_FAMILY_IPV4 ? (void *)&raw.ipv4.sin_addr : (void *)&raw.ipv6.sin6_addr;
    if (inet_pton(raw.plain.sa_family, text, place) != 1) return -EINVAL;
    read_back(&raw, address);
    return 0;
}

int linux_print_address(const linux_address *address, char *text) {
    union any_address raw;
    if (address->family != LINUX_FAMILY_IPV4 && address->family != LINUX_FAMILY_IPV6) return -EINVAL;
    lay_out(&raw, address, NULL, 0);
    const void *place = address->family == LINUX_FAMILY_IPV4 ? (const void *)&raw.ipv4.sin_addr
                                                             : (const void *)&raw.ipv6.sin6_addr;
    if (!inet_ntop(raw.plain.sa_family, place, text, 64)) return -errno;
    return (int)strlen(text);
}

int linux_resolve(const char *host, uint16_t port, linux_address *found, int maximum, int *system) {
    struct addrinfo hints = {0};
    struct addrinfo *list = NULL;
    char service[8];
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    snprintf(service, sizeof service, "%u", port);
    int code = getaddrinfo(host, service, &hints, &list);
    *system = code == EAI_SYSTEM ? errno : 0;
    if (code != 0) return code;
    int count = 0;
    for (struct addrinfo *item = list; item && count < maximum; item = item->ai_next) {
        union any_address raw;
        if (item->ai_family != AF_INET && item->ai_family != AF_INET6) continue;
        memset(&raw, 0, sizeof raw);
        memcpy(&raw, item->ai_addr, item->ai_addrlen);
        read_back(&raw, &found[count++]);
    }
    freeaddrinfo(list);
    return count > 0 ? count : EAI_NONAME;
}

const char *linux_resolve_reason(int code) {
    return gai_strerror(code);
}

int linux_socket_file(const char *path, uint64_t *device, uint64_t *node) {
    struct stat status;
    if (lstat(path, &status) < 0) return -errno;
    *device = status.st_dev;
    *node = status.st_ino;
    return S_ISSOCK(status.st_mode) ? 1 : 0;
}

int linux_socket_number(int descriptor, uint64_t *node) {
    struct stat status;
    if (fstat(descriptor, &status) < 0) return -errno;
    *node = status.st_ino;
    return S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode) ? 1 : 0;
}

int linux_unlink(const char *path) {
    return unlink(path) < 0 ? -errno : 0;
}

int linux_lock_directory(const char *path) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    if (flock(descriptor, LOCK_EX | LOCK_NB) < 0) {
        int code = errno;
        close(descriptor);
        return -code;
    }
    return descriptor;
}
