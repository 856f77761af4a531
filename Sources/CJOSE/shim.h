#pragma once
// cjose works on its own key type (JWK). What stands here makes one from the PEM blocks that operators have, by way of
// OpenSSL's EVP_PKEY, and leaves the thread's OpenSSL error queue empty after every call: the same threads run TLS,
// and `SSL_get_error` is wrong when something older lies in that queue.

#include <cjose/cjose.h>
#include <jansson.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

/// An RSA public key out of its modulus and exponent, big-endian; NULL when they are no key.
static inline cjose_jwk_t *livegate_jwk_rsa(const uint8_t *modulus, size_t modulus_count, const uint8_t *exponent,
                                            size_t exponent_count) {
    // The specification is only read, though its members are not const.
    cjose_jwk_rsa_keyspec spec = {
        .n = (uint8_t *)modulus, .nlen = modulus_count, .e = (uint8_t *)exponent, .elen = exponent_count};
    cjose_jwk_t *jwk = cjose_jwk_create_RSA_spec(&spec, NULL);
    ERR_clear_error();
    return jwk;
}

/// A point of a curve, its coordinates each of `count` bytes; NULL when it does not lie on the curve.
static inline cjose_jwk_t *livegate_jwk_point(cjose_jwk_ec_curve curve, const uint8_t *x, const uint8_t *y,
                                              size_t count) {
    cjose_jwk_ec_keyspec spec = {
        .crv = curve, .x = (uint8_t *)x, .xlen = count, .y = (uint8_t *)y, .ylen = count};
    cjose_jwk_t *jwk = cjose_jwk_create_EC_spec(&spec, NULL);
    ERR_clear_error();
    return jwk;
}

/// The same point as OpenSSL has it, to verify with; NULL when it does not lie on the curve, or for want of memory.
static inline EVP_PKEY *livegate_point_key(cjose_jwk_ec_curve curve, const uint8_t *x, size_t x_count, const uint8_t *y,
                                           size_t y_count) {
    // X9.62 §4.3.6, uncompressed: 4, then both coordinates, each as long as the field.
    size_t count = curve == CJOSE_JWK_EC_P_256 ? 32 : curve == CJOSE_JWK_EC_P_384 ? 48 : 66;
    uint8_t point[1 + 2 * 66] = {4};
    if (!x || !y || x_count > count || y_count > count) return NULL;
    memcpy(point + 1 + count - x_count, x, x_count);
    memcpy(point + 1 + 2 * count - y_count, y, y_count);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)OBJ_nid2sn((int)curve), 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * count),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 || EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(ctx);
    ERR_clear_error();
    return key;
}

/// Whether `signature`, r and s side by side (RFC 7518 §3.4), is the key's for the text, hashed to so many bytes. Not by
/// cjose, as the others are: 0.6.2 does not look at what ECDSA_SIG_new gives, and ends the process where that is NULL.
static inline bool livegate_point_verify(EVP_PKEY *key, size_t hash_count, const uint8_t *text, size_t count,
                                         const uint8_t *signature, size_t signature_count) {
    const EVP_MD *hash = hash_count == 32 ? EVP_sha256() : hash_count == 48 ? EVP_sha384() : EVP_sha512();
    int half = (int)(signature_count / 2);
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, half, NULL), *s = BN_bin2bn(signature + half, half, NULL);
    uint8_t *coded = NULL;
    int coded_count = 0;
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
        // They are the pair's now.
        r = s = NULL;
        coded_count = i2d_ECDSA_SIG(pair, &coded);
    }
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool verified = ctx && coded_count > 0 && EVP_DigestVerifyInit(ctx, NULL, hash, NULL, key) == 1 &&
                    EVP_DigestVerify(ctx, coded, (size_t)coded_count, text, count) == 1;
    EVP_MD_CTX_free(ctx);
    OPENSSL_free(coded);
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    ERR_clear_error();
    return verified;
}

/// The first 8 bytes of the SHA-256 of a key's name, a zero and the key itself; 0 for want of memory.
static inline uint64_t livegate_jwk_mark(const cjose_jwk_t *jwk, const uint8_t *name, size_t count) {
    char *json = cjose_jwk_to_json(jwk, true, NULL);
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    uint64_t mark = 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (json && ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1 && EVP_DigestUpdate(ctx, name, count) == 1 &&
        EVP_DigestUpdate(ctx, "", 1) == 1 && EVP_DigestUpdate(ctx, json, strlen(json)) == 1 &&
        EVP_DigestFinal_ex(ctx, digest, NULL) == 1) {
        for (int i = 0; i < 8; i++) mark = mark << 8 | digest[i];
    }
    EVP_MD_CTX_free(ctx);
    if (json) {
        // Of a shared secret it holds the secret.
        OPENSSL_cleanse(json, strlen(json));
        cjose_get_dealloc()(json);
    }
    ERR_clear_error();
    return mark;
}

/// What became of one PEM block.
typedef enum {
    /// The text holds no further PEM block.
    LIVEGATE_PEM_END = 0,
    /// A key that cjose can use.
    LIVEGATE_PEM_KEY,
    /// A block that is neither a key nor a certificate (curve parameters, a CRL): to be passed over.
    LIVEGATE_PEM_OTHER,
    /// A block that should be a key or a certificate and cannot be read as one.
    LIVEGATE_PEM_BROKEN,
    /// A key under a passphrase.
    LIVEGATE_PEM_ENCRYPTED,
    /// A key of a kind or on a curve that JWS with cjose does not know (Ed25519, secp256k1, DSA).
    LIVEGATE_PEM_UNSUPPORTED,
} livegate_pem_outcome;

/// Big-endian bytes of a key's parameter, in memory of its own; length 0 when the key has none such.
typedef struct {
    uint8_t *bytes;
    size_t count;
} livegate_octets;

static inline livegate_octets livegate_key_parameter(const EVP_PKEY *key, const char *name) {
    livegate_octets octets = {NULL, 0};
    BIGNUM *number = NULL;
    if (EVP_PKEY_get_bn_param(key, name, &number) == 1) {
        size_t count = (size_t)BN_num_bytes(number);
        octets.bytes = malloc(count ? count : 1);
        if (octets.bytes) octets.count = (size_t)BN_bn2bin(number, octets.bytes);
    }
    BN_clear_free(number);
    return octets;
}

static inline void livegate_octets_free(livegate_octets octets) {
    if (octets.bytes) OPENSSL_cleanse(octets.bytes, octets.count);
    free(octets.bytes);
}

static inline cjose_jwk_t *livegate_jwk_from_rsa(const EVP_PKEY *key, bool with_private_half) {
    static const char *const names[8] = {
        OSSL_PKEY_PARAM_RSA_N,        OSSL_PKEY_PARAM_RSA_E,         OSSL_PKEY_PARAM_RSA_D,
        OSSL_PKEY_PARAM_RSA_FACTOR1,  OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
        OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    livegate_octets parts[8] = {{NULL, 0}};
    for (int i = 0; i < (with_private_half ? 8 : 2); i++) parts[i] = livegate_key_parameter(key, names[i]);
    cjose_jwk_rsa_keyspec spec = {
        .n = parts[0].bytes, .nlen = parts[0].count, .e = parts[1].bytes, .elen = parts[1].count,
        .d = parts[2].bytes, .dlen = parts[2].count, .p = parts[3].bytes, .plen = parts[3].count,
        .q = parts[4].bytes, .qlen = parts[4].count, .dp = parts[5].bytes, .dplen = parts[5].count,
        .dq = parts[6].bytes, .dqlen = parts[6].count, .qi = parts[7].bytes, .qilen = parts[7].count,
    };
    cjose_jwk_t *jwk = cjose_jwk_create_RSA_spec(&spec, NULL);
    for (int i = 0; i < 8; i++) livegate_octets_free(parts[i]);
    return jwk;
}

static inline cjose_jwk_t *livegate_jwk_from_ec(const EVP_PKEY *key, bool with_private_half, EVP_PKEY **point) {
    char name[64] = "";
    if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, NULL) != 1) return NULL;
    int curve = OBJ_txt2nid(name);
    if (curve != CJOSE_JWK_EC_P_256 && curve != CJOSE_JWK_EC_P_384 && curve != CJOSE_JWK_EC_P_521) return NULL;
    livegate_octets x = livegate_key_parameter(key, OSSL_PKEY_PARAM_EC_PUB_X);
    livegate_octets y = livegate_key_parameter(key, OSSL_PKEY_PARAM_EC_PUB_Y);
    livegate_octets d = {NULL, 0};
    if (with_private_half) d = livegate_key_parameter(key, OSSL_PKEY_PARAM_PRIV_KEY);
    cjose_jwk_ec_keyspec spec = {
        .crv = (cjose_jwk_ec_curve)curve, .d = d.bytes, .dlen = d.count,
        .x = x.bytes, .xlen = x.count, .y = y.bytes, .ylen = y.count,
    };
    cjose_jwk_t *jwk = cjose_jwk_create_EC_spec(&spec, NULL);
    if (jwk) *point = livegate_point_key(spec.crv, x.bytes, x.count, y.bytes, y.count);
    livegate_octets_free(x);
    livegate_octets_free(y);
    livegate_octets_free(d);
    return jwk;
}

/// The key in one decoded PEM block, or NULL with `outcome` saying why.
static inline EVP_PKEY *livegate_pem_block_key(const char *name, const char *header, const uint8_t *bytes, long count,
                                               bool *is_private, livegate_pem_outcome *outcome) {
    EVP_PKEY *key = NULL;
    *is_private = false;
    *outcome = LIVEGATE_PEM_BROKEN;
    if (strcmp(name, PEM_STRING_PUBLIC) == 0) {
        key = d2i_PUBKEY(NULL, &bytes, count);
    } else if (strcmp(name, PEM_STRING_RSA_PUBLIC) == 0) {
        key = d2i_PublicKey(EVP_PKEY_RSA, NULL, &bytes, count);
    } else if (strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0) {
        X509 *certificate = d2i_X509(NULL, &bytes, count);
        if (certificate) key = X509_get_pubkey(certificate);
        X509_free(certificate);
    } else if (strcmp(name, PEM_STRING_PKCS8) == 0 || (*header && strstr(header, "ENCRYPTED"))) {
        *outcome = LIVEGATE_PEM_ENCRYPTED;
    } else if (strcmp(name, PEM_STRING_PKCS8INF) == 0 || strcmp(name, PEM_STRING_RSA) == 0 ||
               strcmp(name, PEM_STRING_ECPRIVATEKEY) == 0) {
        *is_private = true;
        key = d2i_AutoPrivateKey(NULL, &bytes, count);
    } else {
        *outcome = LIVEGATE_PEM_OTHER;
    }
    return key;
}

/// The public exponent of an RSA key; 0 where it has more than 64 bits, or cannot be read.
static inline uint64_t livegate_rsa_exponent(const EVP_PKEY *key) {
    livegate_octets octets = livegate_key_parameter(key, OSSL_PKEY_PARAM_RSA_E);
    uint64_t exponent = 0;
    for (size_t i = 0; i < octets.count && octets.count <= 8; i++) exponent = exponent << 8 | octets.bytes[i];
    livegate_octets_free(octets);
    return exponent;
}

/// Reads the next PEM block of `pem`. With `LIVEGATE_PEM_KEY` the caller owns `*jwk` (`cjose_jwk_release`) and, for one on a
/// curve, `*point` (`EVP_PKEY_free`), `*exponent` is that of an RSA key as `livegate_rsa_exponent` has it, and `*is_private`
/// says whether the block was a private key; its private half is in the JWK only if `with_private_half`.
static inline livegate_pem_outcome livegate_pem_next(BIO *pem, bool with_private_half, cjose_jwk_t **jwk,
                                                     EVP_PKEY **point, uint64_t *exponent, bool *is_private) {
    char *name = NULL, *header = NULL;
    unsigned char *bytes = NULL;
    long count = 0;
    *jwk = NULL;
    *point = NULL;
    *exponent = 0;
    *is_private = false;
    if (PEM_read_bio(pem, &name, &header, &bytes, &count) != 1) {
        bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
        ERR_clear_error();
        return at_end ? LIVEGATE_PEM_END : LIVEGATE_PEM_BROKEN;
    }
    livegate_pem_outcome outcome;
    EVP_PKEY *key = livegate_pem_block_key(name, header, bytes, count, is_private, &outcome);
    if (key) {
        int kind = EVP_PKEY_get_base_id(key);
        if (kind == EVP_PKEY_RSA) {
            *jwk = livegate_jwk_from_rsa(key, with_private_half);
            *exponent = livegate_rsa_exponent(key);
        }
        if (kind == EVP_PKEY_EC) *jwk = livegate_jwk_from_ec(key, with_private_half, point);
        outcome = *jwk ? LIVEGATE_PEM_KEY : LIVEGATE_PEM_UNSUPPORTED;
    }
    EVP_PKEY_free(key);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(bytes, (size_t)count);
    ERR_clear_error();
    return outcome;
}

/// Whether the compact token bears a signature by `jwk`. The caller has already checked that the token's algorithm fits
/// the key and that the signature has the algorithm's length: cjose 0.6.2 checks neither curve nor length.
static inline bool livegate_jws_verify(const cjose_jwk_t *jwk, const uint8_t *token, size_t count) {
    cjose_jws_t *jws = cjose_jws_import((const char *)token, count, NULL);
    bool verified = jws && cjose_jws_verify(jws, jwk, NULL);
    cjose_jws_release(jws);
    ERR_clear_error();
    return verified;
}

/// A compact token over `payload`, in memory that the caller frees; NULL when the key cannot sign with the algorithm.
static inline char *livegate_jws_sign(const cjose_jwk_t *jwk, const char *algorithm, const char *kid,
                                      const uint8_t *payload, size_t count) {
    char *copy = NULL;
    cjose_header_t *header = cjose_header_new(NULL);
    if (header && cjose_header_set(header, CJOSE_HDR_ALG, algorithm, NULL) &&
        cjose_header_set(header, "typ", "JWT", NULL) && (!kid || cjose_header_set(header, CJOSE_HDR_KID, kid, NULL))) {
        cjose_jws_t *jws = cjose_jws_sign(jwk, header, payload, count, NULL);
        const char *token = NULL;
        if (jws && cjose_jws_export(jws, &token, NULL) && token) copy = strdup(token);
        cjose_jws_release(jws);
    }
    if (header) cjose_header_release(header);
    ERR_clear_error();
    return copy;
}

