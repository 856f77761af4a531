#pragma once
// libcurl's setters take any type, which Swift cannot call: what stands here sets up one request, and gathers its answer
// within bounds.

#include <curl/curl.h>
#include <openssl/err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// What the head of an answer may have: no key server needs a tenth of it.
enum { LIVEGATE_FETCH_HEAD_BYTES = 64 * 1024 };

/// One request and what has come of its answer. Confined to the thread that drives it.
typedef struct {
    CURL *easy;
    struct curl_slist *headers;
    uint8_t *bytes;
    size_t count;
    size_t capacity;
    size_t limit;
    size_t head_count;
    bool is_too_large;
    char reason[CURL_ERROR_SIZE];
} livegate_fetch;

static inline size_t livegate_fetch_body(char *piece, size_t one, size_t count, void *context) {
    livegate_fetch *fetch = context;
    count *= one;
    if (count > fetch->limit - fetch->count) {
        fetch->is_too_large = true;
        return 0;
    }
    if (count > fetch->capacity - fetch->count) {
        size_t capacity = fetch->count + count;
        capacity += capacity < fetch->limit / 2 ? capacity : 0;
        uint8_t *bytes = realloc(fetch->bytes, capacity);
        if (!bytes) return 0;
        fetch->bytes = bytes;
        fetch->capacity = capacity;
    }
    memcpy(fetch->bytes + fetch->count, piece, count);
    fetch->count += count;
    return count;
}

static inline size_t livegate_fetch_head(char *piece, size_t one, size_t count, void *context) {
    livegate_fetch *fetch = context;
    (void)piece;
    count *= one;
    if (count > LIVEGATE_FETCH_HEAD_BYTES - fetch->head_count) {
        fetch->is_too_large = true;
        return 0;
    }
    fetch->head_count += count;
    return count;
}

static inline void livegate_fetch_destroy(livegate_fetch *fetch) {
    if (!fetch) return;
    if (fetch->easy) curl_easy_cleanup(fetch->easy);
    curl_slist_free_all(fetch->headers);
    free(fetch->bytes);
    free(fetch);
    // The thread's queue of OpenSSL's errors is nobody's memory of this request.
    ERR_clear_error();
}

/// Adds a header line; false for want of memory.
static inline bool livegate_fetch_add_header(livegate_fetch *fetch, const char *line) {
    struct curl_slist *headers = curl_slist_append(fetch->headers, line);
    if (headers) fetch->headers = headers;
    return headers != NULL;
}

/// A request that is ready to run, or NULL for want of memory, or of a libcurl that can do what is asked.
///
/// https, and http for the addresses that the caller has checked; the certificate is verified, against the PEM in `ca` alone
/// where there is some, else against the system's. No redirect, no proxy, no cookie, no compression, no file of passwords. With
/// a `body` it is a POST. Of both libcurl keeps a copy.
static inline livegate_fetch *livegate_fetch_create(const char *url, const uint8_t *ca, size_t ca_count,
                                                    const uint8_t *body, size_t body_count, size_t limit,
                                                    long timeout_milliseconds) {
    livegate_fetch *fetch = calloc(1, sizeof *fetch);
    if (!fetch) return NULL;
    fetch->limit = limit;
    CURL *easy = fetch->easy = curl_easy_init();
    if (!easy) {
        livegate_fetch_destroy(fetch);
        return NULL;
    }
    CURLcode bad = CURLE_OK;
#define LIVEGATE_SET(option, value) (bad = bad ? bad : curl_easy_setopt(easy, option, value))
    LIVEGATE_SET(CURLOPT_URL, url);
    LIVEGATE_SET(CURLOPT_PRIVATE, (void *)fetch);
    LIVEGATE_SET(CURLOPT_ERRORBUFFER, fetch->reason);
    LIVEGATE_SET(CURLOPT_PROTOCOLS_STR, "http,https");
    LIVEGATE_SET(CURLOPT_FOLLOWLOCATION, 0L);
    LIVEGATE_SET(CURLOPT_PROXY, "");
    LIVEGATE_SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    LIVEGATE_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    LIVEGATE_SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    LIVEGATE_SET(CURLOPT_SSL_VERIFYPEER, 1L);
    LIVEGATE_SET(CURLOPT_SSL_VERIFYHOST, 2L);
    if (ca) {
        struct curl_blob authorities = {.data = (void *)ca, .len = ca_count, .flags = CURL_BLOB_COPY};
        LIVEGATE_SET(CURLOPT_CAINFO_BLOB, &authorities);
        LIVEGATE_SET(CURLOPT_CAPATH, NULL);
    }
    LIVEGATE_SET(CURLOPT_TIMEOUT_MS, timeout_milliseconds);
    LIVEGATE_SET(CURLOPT_CONNECTTIMEOUT_MS, timeout_milliseconds);
    // No signal for time limits, and no waiting for a resolver's thread that has not come back.
    LIVEGATE_SET(CURLOPT_NOSIGNAL, 1L);
    LIVEGATE_SET(CURLOPT_QUICK_EXIT, 1L);
    LIVEGATE_SET(CURLOPT_WRITEFUNCTION, livegate_fetch_body);
    LIVEGATE_SET(CURLOPT_WRITEDATA, (void *)fetch);
    LIVEGATE_SET(CURLOPT_HEADERFUNCTION, livegate_fetch_head);
    LIVEGATE_SET(CURLOPT_HEADERDATA, (void *)fetch);
    if (body) {
        LIVEGATE_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body_count);
        LIVEGATE_SET(CURLOPT_COPYPOSTFIELDS, (const char *)body);
    }
#undef LIVEGATE_SET
    if (bad) {
        livegate_fetch_destroy(fetch);
        return NULL;
    }
    return fetch;
}

/// Begins to run a request that has all its headers; false when it cannot.
static inline bool livegate_fetch_begin(CURLM *multi, livegate_fetch *fetch) {
    return curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, fetch->headers) == CURLE_OK &&
           curl_multi_add_handle(multi, fetch->easy) == CURLM_OK;
}

/// Ends a request that runs.
static inline void livegate_fetch_abandon(CURLM *multi, livegate_fetch *fetch) {
    curl_multi_remove_handle(multi, fetch->easy);
    livegate_fetch_destroy(fetch);
}

/// How many idle connections are kept for the next requests.
static inline void livegate_fetch_keep_connections(CURLM *multi, long maximum) {
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, maximum);
}

/// The next request that has come to its end, taken off `multi`, with libcurl's code; NULL when there is none.
static inline livegate_fetch *livegate_fetch_next_ended(CURLM *multi, CURLcode *code) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        *code = message->data.result;
        void *fetch = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &fetch);
        curl_multi_remove_handle(multi, easy);
        ERR_clear_error();
        return fetch;
    }
    return NULL;
}

/// The status of the answer; 0 where none came.
static inline long livegate_fetch_status(const livegate_fetch *fetch) {
    long status = 0;
    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/// libcurl's sentence about what went wrong.
static inline const char *livegate_fetch_reason(const livegate_fetch *fetch, CURLcode code) {
    return fetch->reason[0] ? fetch->reason : curl_easy_strerror(code);
}
