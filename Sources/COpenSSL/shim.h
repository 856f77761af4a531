// What OpenSSL offers as macros, as functions that Swift can call. Nothing else.
#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

static inline void livegate_ctx_forbid_renegotiation_and_compression(SSL_CTX *ctx) {
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

static inline long livegate_ctx_set_mode(SSL_CTX *ctx, long mode) { return SSL_CTX_set_mode(ctx, mode); }

static inline long livegate_ctx_set_session_cache_mode(SSL_CTX *ctx, long mode) {
    return SSL_CTX_set_session_cache_mode(ctx, mode);
}

static inline int livegate_ctx_set_versions(SSL_CTX *ctx, int lowest, int highest) {
    return SSL_CTX_set_min_proto_version(ctx, lowest) == 1 && SSL_CTX_set_max_proto_version(ctx, highest) == 1;
}

static inline long livegate_ctx_set_groups(SSL_CTX *ctx, const char *list) {
    return SSL_CTX_set1_groups_list(ctx, list);
}

static inline long livegate_ctx_add_chain_certificate(SSL_CTX *ctx, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(ctx, certificate);
}

static inline long livegate_set_server_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name);
}

typedef void (*livegate_message_callback)(int, int, int, const void *, size_t, SSL *, void *);

static inline void livegate_watch_messages(SSL *ssl, livegate_message_callback callback, void *context) {
    SSL_set_msg_callback(ssl, callback);
    SSL_set_msg_callback_arg(ssl, context);
}

static inline X509 *livegate_read_certificate(BIO *bio) { return PEM_read_bio_X509(bio, NULL, NULL, ""); }

// A passphrase is never asked for on the terminal: the word given, or the empty one.
static inline EVP_PKEY *livegate_read_private_key(BIO *bio, const char *passphrase) {
    return PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)passphrase);
}

static inline void livegate_bio_ask_again(BIO *bio) {
    BIO_clear_retry_flags(bio);
    BIO_set_retry_read(bio);
}

static inline void livegate_bio_settle(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline int livegate_alert_of_reason(int reason) {
    return reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256 ? reason - SSL_AD_REASON_OFFSET : -1;
}

// Digests that need no memory but the stack: EVP asks for some at each message.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static inline void livegate_sha1(const void *bytes, size_t count, unsigned char *digest) {
    SHA_CTX state;
    SHA1_Init(&state);
    SHA1_Update(&state, bytes, count);
    SHA1_Final(digest, &state);
}

static inline void livegate_sha256(const void *bytes, size_t count, unsigned char *digest) {
    SHA256_CTX state;
    SHA256_Init(&state);
    SHA256_Update(&state, bytes, count);
    SHA256_Final(digest, &state);
}
#pragma clang diagnostic pop

// HKDF of RFC 5869 with SHA-256 and no salt. 1, or 0 for want of memory.
static inline int livegate_hkdf_sha256(const unsigned char *secret, size_t secret_count, const unsigned char *info,
                                       size_t info_count, unsigned char *output, size_t output_count) {
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    int result = ctx && EVP_KDF_derive(ctx, output, output_count, params) == 1;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return result;
}

// Sets up sealing or opening of a ticket: AES-256 in CBC mode, then HMAC-SHA-256, as RFC 5077 §4 recommends. 1, or 0.
static inline int livegate_set_ticket_key(EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, const unsigned char *cipher_key,
                                          const unsigned char *mac_key, const unsigned char *iv, int seals) {
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)mac_key, 32),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, cipher_key, iv, seals) == 1 &&
           EVP_MAC_CTX_set_params(mac, params) == 1;
}

typedef void (*livegate_release)(void *, void *, CRYPTO_EX_DATA *, int, long, void *);

static inline int livegate_ctx_new_index(livegate_release release) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
}

static inline int livegate_copy_common_name(X509 *certificate, char *buffer, int size) {
    return X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, buffer, size);
}
