import CJOSE

/// Reads the keys of a PEM text: public keys, certificates and private keys, in order.
enum PEMKeys {
    /// The content of one PEM block.
    enum Block {
        case key(SignatureKey, isPrivate: Bool)
        /// It is damaged, encrypted with a passphrase, or of a kind that cannot sign tokens here.
        case unusable(String)
    }

    /// All keys of the text. Blocks without a key (curve parameters) are skipped.
    ///
    /// - Parameter privateHalves: whether the keys must sign. A gateway that only verifies keeps them out of memory.
    static func read(_ text: [UInt8], privateHalves: Bool) -> [Block] {
        // The source keeps no copy of the text, so it must not outlive the closure.
        unsafe text.withUnsafeBytes { bytes in
            guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                return []
            }
            defer { unsafe _ = BIO_free(source) }
            var blocks: [Block] = []
            while let block = unsafe next(source, privateHalves) {
                if case .some(let found) = block { blocks.append(found) }
            }
            return blocks
        }
    }

    /// The next block; `.some(nil)` for one to skip; `nil` at the end of the text.
    private static func next(_ source: OpaquePointer, _ privateHalves: Bool) -> Block?? {
        var (key, point): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        var exponent: UInt64 = 0
        var isPrivate = false
        switch unsafe livegate_pem_next(source, privateHalves, &key, &point, &exponent, &isPrivate) {
        case LIVEGATE_PEM_END: return nil
        case LIVEGATE_PEM_OTHER: return .some(nil)
        case LIVEGATE_PEM_ENCRYPTED: return .unusable("it is under a passphrase")
        case LIVEGATE_PEM_UNSUPPORTED: return .unusable("it is neither RSA nor on the curves P-256, P-384 and P-521")
        case LIVEGATE_PEM_KEY:
            guard let made = unsafe key, let found = unsafe SignatureKey(taking: made, point: point) else {
                return .unusable("it cannot be read")
            }
            guard found.family != .rsa || RSAExponent.isUsable(exponent) else {
                return .unusable("its RSA exponent is not \(RSAExponent.rule)")
            }
            return .key(found, isPrivate: isPrivate)
        default: return .unusable("it cannot be read")
        }
    }
}
