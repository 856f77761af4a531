import COpenSSL

/// Encryption that detects every change: AES-256 in Galois/Counter Mode (NIST SP 800-38D).
package enum Sealing {
    package static let keyBytes = 32
    package static let tagBytes = 16

    /// Encrypts `text` and appends the tag. Nil where OpenSSL has no memory.
    ///
    /// - Parameters:
    ///   - key: 32 bytes that seal only this text and no other: a text with its own key needs no nonce.
    ///   - associated: data that is not encrypted, and that must be the same when the text is opened.
    package static func seal(_ text: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard let cipher = Cipher(key, isSealing: true), cipher.take(associated), let sealed = cipher.process(text),
            let tag = cipher.finishSealing()
        else {
            _ = ErrorQueue.drain()
            return nil
        }
        return sealed + tag
    }

    /// The sealed text, or nil: another key, a changed byte, or no memory.
    package static func open(_ sealed: [UInt8], key: [UInt8], associated: [UInt8]) -> [UInt8]? {
        guard sealed.count >= tagBytes else { return nil }
        guard let cipher = Cipher(key, isSealing: false) else {
            _ = ErrorQueue.drain()
            return nil
        }
        let text = cipher.take(associated) ? cipher.process(Array(sealed.dropLast(tagBytes))) : nil
        guard cipher.finishOpening(Array(sealed.suffix(tagBytes))), let text else {
            // OpenSSL reports no error for a wrong tag. Its other errors are not needed here.
            _ = ErrorQueue.drain()
            return nil
        }
        return text
    }
}

/// One run of the cipher.
@safe
private struct Cipher: ~Copyable {
    private let context: OpaquePointer

    /// Nil where there is no memory.
    init?(_ key: [UInt8], isSealing: Bool) {
        precondition(key.count == Sealing.keyBytes, "a key of \(key.count) bytes")
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        let nonce = [UInt8](repeating: 0, count: 12)
        guard unsafe EVP_CipherInit_ex2(context, EVP_aes_256_gcm(), key, nonce, isSealing ? 1 : 0, nil) == 1 else {
            unsafe EVP_CIPHER_CTX_free(context)
            return nil
        }
        unsafe self.context = context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Adds the data that is not encrypted.
    func take(_ associated: [UInt8]) -> Bool {
        var count: Int32 = 0
        return unsafe associated.isEmpty
            || EVP_CipherUpdate(context, nil, &count, associated, Int32(associated.count)) == 1
    }

    func process(_ input: [UInt8]) -> [UInt8]? {
        guard !input.isEmpty else { return [] }
        var output = [UInt8](repeating: 0, count: input.count)
        var count: Int32 = 0
        let result = unsafe EVP_CipherUpdate(context, &output, &count, input, Int32(input.count))
        return result == 1 && Int(count) == input.count ? output : nil
    }

    func finishSealing() -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: Sealing.tagBytes)
        guard finish() else { return nil }
        let result = unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag)
        return result == 1 ? tag : nil
    }

    func finishOpening(_ tag: [UInt8]) -> Bool {
        var tag = tag
        let result = unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag)
        return result == 1 && finish()
    }

    private func finish() -> Bool {
        // In this mode no bytes are left, but the function needs an address.
        var rest = [UInt8](repeating: 0, count: 16)
        var count: Int32 = 0
        return unsafe EVP_CipherFinal_ex(context, &rest, &count) == 1
    }
}
