import COpenSSL

/// What both sides agreed upon in the handshake, for logs and tests.
package struct TLSAgreement: Equatable, Sendable {
    /// `TLSv1.2` or `TLSv1.3`.
    package let version: String
    /// The suite by its OpenSSL name.
    package let cipher: String
    /// The session was resumed by a ticket: no certificate was sent or verified again.
    package let isResumed: Bool
    /// What ALPN chose; nil when it was not spoken.
    package let applicationProtocol: String?

    init(_ ssl: OpaquePointer) {
        version = unsafe String(cString: SSL_get_version(ssl))
        let name = unsafe SSL_CIPHER_get_name(SSL_get_current_cipher(ssl))
        cipher = if let name = unsafe name { unsafe String(cString: name) } else { "" }
        isResumed = unsafe SSL_session_reused(ssl) == 1
        var chosen: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &chosen, &length)
        applicationProtocol =
            if let chosen = unsafe chosen {
                unsafe String(decoding: UnsafeBufferPointer(start: chosen, count: Int(length)), as: UTF8.self)
            } else {
                nil
            }
    }
}
