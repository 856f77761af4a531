import COpenSSL

/// Why a TLS context could not be made. Each case carries the file to look at, so that an operator need not guess.
package enum TLSError: Error, Equatable, Sendable {
    /// The file cannot be opened or read; `cause` is what the system said.
    case unreadable(path: String, cause: String)
    /// The file is longer than `limit` bytes (`PEMFile.maximumBytes`); it is no certificate or key.
    case tooLong(path: String, limit: Int)
    /// No `BEGIN CERTIFICATE` in the file.
    case noCertificate(path: String)
    /// No private key in the file.
    case noPrivateKey(path: String)
    /// The key is encrypted, and no passphrase was given.
    case passphraseNeeded(path: String)
    /// The key is encrypted with another passphrase.
    case passphraseWrong(path: String)
    /// PEM armour is there, what stands inside cannot be read.
    case malformed(path: String, cause: String)
    /// The private key belongs to another certificate (or to another than the first one of the chain).
    case keyDoesNotFit(key: String, certificate: String)
    /// Readable, but weaker than OpenSSL's security level allows (RSA below 2,048 bits, SHA-1 signatures).
    case refused(path: String, cause: String)
    /// A name to verify that is neither a DNS name nor an address.
    case badName(String)
    /// A call of OpenSSL failed that has no reason to fail but want of memory or a broken `openssl.cnf`.
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

/// OpenSSL's error queue of the calling thread, emptied.
///
/// A loop is a serial queue and changes threads, so the queue is cleared before a call and drained after it, in the
/// same function: what is left behind would be read by another connection's call, on whatever thread that runs.
struct ErrorQueue {
    /// The oldest error: what OpenSSL met first, before the layers above said that they failed too.
    let first: UInt

    static func clear() {
        ERR_clear_error()
    }

    /// Takes everything out of the calling thread's queue.
    static func drain() -> ErrorQueue {
        let first = ERR_get_error()
        ERR_clear_error()
        return ErrorQueue(first: first)
    }

    var isEmpty: Bool { first == 0 }
    var library: Int32 { ERR_GET_LIB(first) }
    var reason: Int32 { ERR_GET_REASON(first) }

    /// OpenSSL's words for the error, without numbers and function names.
    var text: String {
        if isEmpty { return "no reason given" }
        guard let words = unsafe ERR_reason_error_string(first) else { return "error \(library):\(reason)" }
        return unsafe String(cString: words)
    }
}
