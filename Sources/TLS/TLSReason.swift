import COpenSSL

/// Why a TLS connection ended early: a closed list, so that its owner can count by reason.
package enum TLSReason: String, CaseIterable, Sendable {
    /// The peer began with an HTTP method: its address has `http://` instead of `https://`.
    case plainHTTP = "plain_http"
    /// The peer began with a record of SSL 2 (RFC 6176 forbids it; scanners send it).
    case sslv2Hello = "sslv2_hello"
    /// The first bytes are not a TLS record of any version.
    case notTLS = "not_tls"
    /// The peer supports none of our versions (1.2 and 1.3).
    case unsupportedVersion = "unsupported_version"
    /// No cipher suite, group or signature algorithm in common.
    case noSharedCipher = "no_shared_cipher"
    /// The peer offers application protocols by ALPN, and `http/1.1` is not among them.
    case noApplicationProtocol = "no_application_protocol"
    /// A record longer than RFC 8446 §5.1 allows (2^14 bytes, plus 256 when it is encrypted).
    case oversizedRecord = "oversized_record"
    /// A record that does not decrypt: changed in transit, or forged.
    case badRecord = "bad_record"
    /// The peer continued to send handshake messages after the handshake: `TLSSession.maximumLaterMessages`.
    case messageFlood = "message_flood"
    /// Anything else that the standard forbids: fields out of range, messages out of order.
    case malformed = "malformed"
    /// The peer does not accept our certificate; its alert names the reason.
    case peerRefusedCertificate = "peer_refused_certificate"
    /// The peer ended the connection with another alert.
    case peerAlert = "peer_alert"
    /// Client: no chain from the server's certificate to an authority that we trust.
    case certificateUntrusted = "certificate_untrusted"
    /// Client: the server's certificate is not valid at this time.
    case certificateOutOfDate = "certificate_out_of_date"
    /// Client: the server's certificate names other hosts.
    case certificateForAnotherName = "certificate_for_another_name"
    /// The connection ended in the middle of the handshake.
    case abandoned = "handshake_abandoned"
    /// The handshake was not done at its deadline.
    case timedOut = "handshake_timeout"
    /// More handshakes were waiting for their turn than the limit allows.
    case overloaded = "handshake_overload"
    /// The connection ended without `close_notify`. Phones that lose their network all do that. HTTP and WebSocket show whether
    /// a message is complete, so nothing is lost by it.
    case truncated = "truncated"
    /// OpenSSL failed, but not because of the peer.
    case failed = "internal"
}

/// A reason, and OpenSSL's text about it for the operator. Peers get the alert that the standard prescribes.
package struct TLSFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package let reason: TLSReason
    package let detail: String

    package init(_ reason: TLSReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }

    package var description: String { "TLS: \(detail)" }
}

extension TLSReason {
    /// The reason behind an error that OpenSSL's SSL library reported.
    init(openSSLReason code: Int32) {
        let alert = livegate_alert_of_reason(code)
        if alert >= 0 {
            self = TLSReason(peerAlert: alert)
            return
        }
        self =
            switch code {
            case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST: .plainHTTP
            case SSL_R_WRONG_VERSION_NUMBER: .notTLS
            case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH, SSL_R_UNKNOWN_PROTOCOL,
                SSL_R_INAPPROPRIATE_FALLBACK, SSL_R_WRONG_SSL_VERSION:
                .unsupportedVersion
            case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS,
                SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SHARED_GROUPS, SSL_R_NO_SUITABLE_GROUPS,
                SSL_R_WRONG_SIGNATURE_TYPE:
                .noSharedCipher
            case SSL_R_NO_APPLICATION_PROTOCOL: .noApplicationProtocol
            case SSL_R_DATA_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG, SSL_R_PACKET_LENGTH_TOO_LONG,
                SSL_R_EXCESSIVE_MESSAGE_SIZE:
                .oversizedRecord
            case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, SSL_R_DECRYPTION_FAILED, SSL_R_DIGEST_CHECK_FAILED:
                .badRecord
            case SSL_R_CERTIFICATE_VERIFY_FAILED: .certificateUntrusted
            default: .malformed
            }
    }

    /// RFC 8446 §6.2: 42 to 46, 48 and 49 concern the certificate, 40 means that nothing was in common, 70 the version.
    private init(peerAlert alert: Int32) {
        self =
            switch alert {
            case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED,
                SSL_AD_CERTIFICATE_EXPIRED, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED:
                .peerRefusedCertificate
            case SSL_AD_HANDSHAKE_FAILURE, SSL_AD_INSUFFICIENT_SECURITY: .noSharedCipher
            case SSL_AD_PROTOCOL_VERSION: .unsupportedVersion
            case SSL_AD_NO_APPLICATION_PROTOCOL: .noApplicationProtocol
            default: .peerAlert
            }
    }

    /// The reason behind a verification result (`X509_V_ERR_…`).
    init(verifyResult code: Int) {
        self =
            switch Int32(truncatingIfNeeded: code) {
            case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: .certificateOutOfDate
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .certificateForAnotherName
            default: .certificateUntrusted
            }
    }
}

/// The meaning of the first byte on a TLS port, before OpenSSL reads it.
///
/// A TLS connection begins with a record of type 22 (handshake); OpenSSL and its alerts handle 20 to 23. Other bytes
/// belong to another protocol and have their own reason: an HTTP request comes from a client with the wrong scheme.
enum FirstByte {
    static func refusal(_ byte: UInt8) -> TLSFailure? {
        switch byte {
        case 20...23: nil
        // Methods are upper-case words in practice (RFC 9110 §9.1).
        case UInt8(ascii: "A")...UInt8(ascii: "Z"):
            TLSFailure(.plainHTTP, "plain HTTP was spoken to a TLS port")
        // A record of SSL 2 begins with its length, the highest bit set.
        case 0x80...: TLSFailure(.sslv2Hello, "SSL 2 was spoken")
        default: TLSFailure(.notTLS, "the first byte, \(byte), begins no TLS record")
        }
    }
}
