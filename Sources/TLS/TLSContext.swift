import COpenSSL

/// What sessions of one kind share: versions, ciphers, certificate, trust. The owner of an `SSL_CTX *`.
///
/// Created once and never changed. New certificates need a new context; the sessions of the old one keep it alive.
/// Any loop may create sessions from it.
@safe package final class TLSContext {
    /// Only `TLSSession` uses the C pointer.
    let pointer: OpaquePointer
    let role: TLSRole
    /// The facts of our own certificate; nil for a client without one.
    package let certificate: CertificateFacts?

    /// A context for a listener.
    ///
    /// - Parameters:
    ///   - certificate: path of a PEM file: our certificate first, then those between it and the authority.
    ///   - key: path of a PEM file with the private key (RSA, ECDSA or Ed25519).
    ///   - tickets: the keys that seal session tickets. Contexts that share them accept each other's tickets.
    package static func server(
        certificate: String, key: String, passphrase: String? = nil, tickets: TicketKeys = .ofProcess
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(.server, certificate: certificate, key: key, passphrase: passphrase)
        try context.setServerOptions(tickets)
        return context
    }

    /// A context for outgoing connections.
    package static func client(_ settings: TLSClientSettings = TLSClientSettings()) throws(TLSError) -> TLSContext {
        let context = try TLSContext(
            .client, certificate: settings.certificate, key: settings.key ?? settings.certificate,
            passphrase: settings.passphrase)
        try context.setClientOptions(settings)
        return context
    }

    private init(_ role: TLSRole, certificate: String?, key: String?, passphrase: String?) throws(TLSError) {
        ErrorQueue.clear()
        guard let context = unsafe SSL_CTX_new(role == .server ? TLS_server_method() : TLS_client_method()) else {
            throw .openSSL(call: "SSL_CTX_new", cause: ErrorQueue.drain().text)
        }
        do throws(TLSError) {
            try unsafe TLSContext.setCommonOptions(context)
            if let certificate, let key {
                self.certificate = try unsafe TLSContext.load(
                    certificate: certificate, key: key, passphrase: passphrase, into: context)
            } else {
                self.certificate = nil
            }
        } catch {
            unsafe SSL_CTX_free(context)
            throw error
        }
        self.role = role
        unsafe pointer = context
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    private static func setCommonOptions(_ context: OpaquePointer) throws(TLSError) {
        // RFC 8996 retires 1.0 and 1.1. The suites of 1.2 have forward secrecy and authenticated encryption (RFC 9325 §4.2).
        // All of them are good, so the client chooses: a phone without AES in hardware prefers ChaCha20.
        guard unsafe livegate_ctx_set_versions(context, TLS1_2_VERSION, TLS1_3_VERSION) == 1 else {
            throw .openSSL(call: "SSL_CTX_set_min_proto_version", cause: ErrorQueue.drain().text)
        }
        guard unsafe SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 else {
            throw .openSSL(call: "SSL_CTX_set_cipher_list", cause: ErrorQueue.drain().text)
        }
        guard unsafe livegate_ctx_set_groups(context, "X25519:P-256:P-384") == 1 else {
            throw .openSSL(call: "SSL_CTX_set1_groups_list", cause: ErrorQueue.drain().text)
        }
        // Renegotiation lets a peer make us work, and compression leaks secrets by lengths (CRIME); 1.3 has neither.
        // SSL_OP_IGNORE_UNEXPECTED_EOF stays off, so that a cut differs from a close. A cut is only counted.
        unsafe livegate_ctx_forbid_renegotiation_and_compression(context)
        // The record buffers (2 × 16.6 KiB) are released whenever they are empty: an idle connection has none.
        unsafe livegate_ctx_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
        // Tickets need no memory here. The cache would keep up to 20,480 sessions of clients that do not support tickets.
        unsafe livegate_ctx_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
    }

    /// What is wrong with a certificate file, checked without its key.
    package static func problem(certificate path: String) -> TLSError? {
        do throws(TLSError) {
            guard try PEMFile(path: path).nextCertificate() != nil else { return .noCertificate(path: path) }
            return nil
        } catch {
            return error
        }
    }

    /// The content of a file of certificates, for another program that is to trust them. Each certificate is checked.
    package static func authorities(_ path: String) throws(TLSError) -> [UInt8] {
        let content = try PEMFile.read(path)
        let file = try PEMFile(path: path, content)
        guard try file.nextCertificate() != nil else { throw .noCertificate(path: path) }
        while try file.nextCertificate() != nil {}
        return content
    }

    /// What is wrong with a private key file, checked without its certificate.
    package static func problem(key path: String, passphrase: String? = nil) -> TLSError? {
        do throws(TLSError) {
            _ = try PEMFile(path: path).privateKey(passphrase: passphrase)
            return nil
        } catch {
            return error
        }
    }

    private static func load(
        certificate path: String, key keyPath: String, passphrase: String?, into context: OpaquePointer
    ) throws(TLSError) -> CertificateFacts {
        let file = try PEMFile(path: path)
        guard let leaf = try file.nextCertificate() else { throw .noCertificate(path: path) }
        let key = try PEMFile(path: keyPath).privateKey(passphrase: passphrase)
        ErrorQueue.clear()
        guard unsafe X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
            ErrorQueue.clear()
            throw .keyDoesNotFit(key: keyPath, certificate: path)
        }
        guard unsafe SSL_CTX_use_certificate(context, leaf.pointer) == 1 else {
            throw .refused(path: path, cause: ErrorQueue.drain().text)
        }
        guard unsafe SSL_CTX_use_PrivateKey(context, key.pointer) == 1 else {
            throw .refused(path: keyPath, cause: ErrorQueue.drain().text)
        }
        var count = 1
        while let next = try file.nextCertificate() {
            count += 1
            guard count <= maximumChainLength else {
                throw .refused(path: path, cause: "over \(maximumChainLength) certificates in a chain")
            }
            guard unsafe livegate_ctx_add_chain_certificate(context, next.pointer) == 1 else {
                throw .refused(path: path, cause: ErrorQueue.drain().text)
            }
        }
        return CertificateFacts(leaf)
    }

    /// Real chains have two to four certificates. A file with more is a bundle of authorities in the wrong setting; it would
    /// be sent with each handshake.
    static let maximumChainLength = 10
}

package enum TLSRole: Sendable {
    case server, client
}

// SAFETY: OpenSSL's contexts may be used by several threads as long as nobody changes them. Nothing does after `init`
// and the two set…Options calls that precede the first use; the reference count is guarded by OpenSSL's own lock, and
// the ticket keys by theirs. The Swift properties are constants.
extension TLSContext: @unchecked Sendable {}
