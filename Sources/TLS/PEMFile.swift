import CLinux
import COpenSSL
import Glibc

/// Reads certificates and keys from PEM files, with errors that name the file.
@safe struct PEMFile: ~Copyable {
    /// 1 MiB: a chain is some 10 KiB, all of Debian's authorities together are 220 KiB. The limit keeps a path that names a
    /// device or a log file from being read for ever.
    static let maximumBytes = 1 << 20

    let path: String
    private let bio: OpaquePointer
    private let isEncrypted: Bool

    init(path: String) throws(TLSError) { try self.init(path: path, PEMFile.read(path)) }

    /// - Parameter content: the bytes of the file.
    init(path: String, _ content: [UInt8]) throws(TLSError) {
        let bio = unsafe try PEMFile.buffer(content)
        self.path = path
        unsafe self.bio = bio
        isEncrypted = PEMFile.mentionsEncryption(content)
    }

    deinit { unsafe BIO_free_all(bio) }

    /// The next certificate; nil after the last. Anything between certificates (text, keys) is skipped.
    func nextCertificate() throws(TLSError) -> Certificate? {
        ErrorQueue.clear()
        if let certificate = unsafe livegate_read_certificate(bio) { return unsafe Certificate(owning: certificate) }
        let error = ErrorQueue.drain()
        if error.library == ERR_LIB_PEM && error.reason == PEM_R_NO_START_LINE { return nil }
        throw .malformed(path: path, cause: error.text)
    }

    /// The first private key. The passphrase decrypts an encrypted key and is ignored for others.
    func privateKey(passphrase: String?) throws(TLSError) -> PrivateKey {
        ErrorQueue.clear()
        if isEncrypted && passphrase == nil { throw .passphraseNeeded(path: path) }
        let key = unsafe (passphrase ?? "").withCString { unsafe livegate_read_private_key(bio, $0) }
        let error = ErrorQueue.drain()
        if let key = unsafe key { return unsafe PrivateKey(owning: key) }
        if isEncrypted { throw .passphraseWrong(path: path) }
        if error.library == ERR_LIB_PEM && error.reason == PEM_R_NO_START_LINE { throw .noPrivateKey(path: path) }
        // OpenSSL 3 reports a file without any key as a file that no decoder knows.
        if error.library == ERR_LIB_OSSL_DECODER { throw .noPrivateKey(path: path) }
        throw .malformed(path: path, cause: error.text)
    }

    /// The whole content of the file.
    static func read(_ path: String) throws(TLSError) -> [UInt8] {
        var answer: Int64 = 0
        // One byte more than the limit, to recognise a file that is too large.
        let content = unsafe [UInt8](unsafeUninitializedCapacity: maximumBytes + 1) { room, count in
            answer = unsafe linux_read_file(path, room.baseAddress, UInt64(room.count))
            count = Int(max(0, answer))
        }
        guard answer >= 0 else {
            throw .unreadable(path: path, cause: unsafe String(cString: strerror(Int32(-answer))))
        }
        guard content.count <= maximumBytes else { throw .tooLong(path: path, limit: maximumBytes) }
        // A byte order mark would hide the line that begins the first block.
        return content.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(content.dropFirst(3)) : content
    }

    /// A memory BIO with its own copy of the content.
    private static func buffer(_ content: [UInt8]) throws(TLSError) -> OpaquePointer {
        ErrorQueue.clear()
        guard let bio = unsafe BIO_new(BIO_s_mem()) else {
            throw .openSSL(call: "BIO_new", cause: ErrorQueue.drain().text)
        }
        let written = unsafe content.withUnsafeBytes { unsafe BIO_write(bio, $0.baseAddress, Int32($0.count)) }
        guard content.isEmpty || written == Int32(content.count) else {
            unsafe BIO_free_all(bio)
            throw .openSSL(call: "BIO_write", cause: ErrorQueue.drain().text)
        }
        return unsafe bio
    }

    /// PKCS #8 has `BEGIN ENCRYPTED PRIVATE KEY`, the older form `Proc-Type: 4,ENCRYPTED`.
    private static func mentionsEncryption(_ content: [UInt8]) -> Bool {
        let word = Array("ENCRYPTED".utf8)
        guard content.count >= word.count else { return false }
        return (0...(content.count - word.count)).contains { start in
            content[start] == word[0] && content[start..<(start + word.count)].elementsEqual(word)
        }
    }
}

/// The owner of an `X509 *`.
@safe struct Certificate: ~Copyable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }
}

/// The owner of an `EVP_PKEY *`.
@safe struct PrivateKey: ~Copyable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }
}

/// The facts about our own certificate that an operator needs.
package struct CertificateFacts: Equatable, Sendable {
    /// The common name of the subject, or an empty string.
    package let commonName: String
    /// Seconds since 1970, UTC; the certificate is valid from the first to the second, both included.
    package let notBefore: Int64
    package let notAfter: Int64

    /// - Parameter time: seconds since 1970, UTC.
    package func isExpired(at time: Int64) -> Bool { time > notAfter }

    /// - Parameter time: seconds since 1970, UTC.
    package func isNotYetValid(at time: Int64) -> Bool { time < notBefore }

    init(_ certificate: borrowing Certificate) {
        // X.520 limits a common name to 64 characters. A longer one is cut, because it is only displayed.
        var name = [CChar](repeating: 0, count: 256)
        let length = unsafe name.withUnsafeMutableBufferPointer {
            unsafe livegate_copy_common_name(certificate.pointer, $0.baseAddress, Int32($0.count))
        }
        commonName = String(decoding: name.prefix(max(0, Int(length))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        notBefore = unsafe CertificateFacts.seconds(X509_get0_notBefore(certificate.pointer))
        notAfter = unsafe CertificateFacts.seconds(X509_get0_notAfter(certificate.pointer))
    }

    /// 0 for an invalid time, so that such a certificate counts as expired.
    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(unsafe timegm(&parts))
    }
}
