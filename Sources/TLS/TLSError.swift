import COpenSSL

/// Why a TLS context could not be created. Each case contains the file, so that an operator need not guess.
package enum TLSError: Error, Equatable, Sendable {
    /// The file cannot be opened or read; `cause` is the system's reason.
    case unreadable(path: String, cause: String)
    /// The file is longer than `limit` bytes (`PEMFile.maximumBytes`); it is not a certificate or key.
    case tooLong(path: String, limit: Int)
    /// No `BEGIN CERTIFICATE` in the file.
    case noCertificate(path: String)
    /// No private key in the file.
    case noPrivateKey(path: String)
    /// The key is encrypted, and no passphrase was given.
    case passphraseNeeded(path: String)
    /// The key is encrypted with another passphrase.
    case passphraseWrong(path: String)
    /// The file has PEM armour, but the content inside is invalid.
    case malformed(path: String, cause: String)
    /// The private key belongs to another certificate (or not to the first one of the chain).
    case keyDoesNotFit(key: String, certificate: String)
    /// Valid, but weaker than OpenSSL's security level allows (RSA below 2,048 bits, SHA-1 signatures).
    case refused(path: String, cause: String)
    /// A name to verify that is neither a DNS name nor an address.
    case badName(String)
    /// A call of OpenSSL failed. The only possible reasons are a lack of memory and a broken `openssl.cnf`.
    case openSSL(call: String, cause: String)
}

extension TLSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable(let path, let cause): "cannot read \(path): \(cause)"
        case .tooLong(let path, let limit): "\(path) is over \(limit) bytes: neither a certificate chain nor a key"
        case .noCertificate(let path): "\(path) holds no PEM certificate (BEGIN CERTIFICATE)"
        case .noPrivateKey(let path): "\(path) holds no PEM private key (BEGIN PRIVATE KEY)"
        case .passphraseNeeded(let path): "the private key in \(path) is encrypted, and no passphrase was given"
        case .passphraseWrong(let path): "the passphrase does not open the private key in \(path)"
        case .malformed(let path, let cause): "\(path) is broken: \(cause)"
        case .keyDoesNotFit(let key, let certificate):
            "the private key in \(key) does not fit the first certificate in \(certificate)"
        case .refused(let path, let cause): "\(path) is not accepted by OpenSSL: \(cause)"
        case .badName(let name): "\(name) is neither a DNS name nor an IP address that a certificate can name"
        case .openSSL(let call, let cause): "\(call) failed: \(cause)"
        }
    }
}

/// The error queue of OpenSSL for the calling thread, after it was emptied.
///
/// A loop is a serial queue and changes threads. So the queue is cleared before a call and drained after it, in the same
/// function. Otherwise another connection's call on that thread would read the errors that are left.
struct ErrorQueue {
    /// The oldest error: the one that OpenSSL met first, before the layers above reported that they failed too.
    let first: UInt

    static func clear() {
        ERR_clear_error()
    }

    /// Removes all errors from the calling thread's queue.
    static func drain() -> ErrorQueue {
        let first = ERR_get_error()
        ERR_clear_error()
        return ErrorQueue(first: first)
    }

    var isEmpty: Bool { first == 0 }
    var library: Int32 { ERR_GET_LIB(first) }
    var reason: Int32 { ERR_GET_REASON(first) }

    /// OpenSSL's text for the error, without numbers and function names.
    var text: String {
        if isEmpty { return "no reason given" }
        guard let words = unsafe ERR_reason_error_string(first) else { return "error \(library):\(reason)" }
        return unsafe String(cString: words)
    }
}
