import TLS

/// The three parts of a compact JWS (RFC 7515 §7.1), decoded without leniency.
///
/// Each text has exactly one meaning here: no padding, no blanks, no bits beyond the last byte. Otherwise one signature would fit
/// several texts, and one reader could accept what another refuses.
struct CompactToken {
    /// The decoded header.
    let header: [UInt8]
    /// The decoded payload.
    let payload: [UInt8]
    /// The decoded signature, never empty.
    let signature: [UInt8]

    /// Splits a token, whose size the caller has checked, into its parts.
    init(_ token: [UInt8]) throws(TokenRefusal) {
        let parts = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed(.token) }
        header = try Self.decode(parts[0], .header)
        payload = try Self.decode(parts[1], .payload)
        signature = try Self.decode(parts[2], .signature)
    }

    private static func decode(_ text: ArraySlice<UInt8>, _ part: TokenPart) throws(TokenRefusal) -> [UInt8] {
        guard let bytes = Base64.decodeURL(text), !bytes.isEmpty else { throw .malformed(part) }
        return bytes
    }
}

/// The supported members of a token's header (RFC 7515 §4.1).
///
/// `jku`, `x5u`, `jwk` and `x5c` contain or name keys. They are ignored: keys come from the settings alone.
struct TokenHeader {
    let algorithm: SignatureAlgorithm
    let keyName: [UInt8]?

    init(_ text: [UInt8]) throws(TokenRefusal) {
        guard let members = JOSEObject(text) else { throw .malformed(.header) }
        // RFC 7515 §4.1.11, RFC 7797 §6: a reader that does not understand a critical member must refuse the token.
        guard !members.has("crit"), !members.has("b64") else { throw .criticalHeader }
        guard let name = members.text("alg"), let algorithm = SignatureAlgorithm(name: name) else { throw .algorithm }
        self.algorithm = algorithm
        if let kid = members["kid"] {
            guard case .text(let name) = kid, KeyName.isUsable(name) else { throw .keyName }
            keyName = name
        } else {
            keyName = nil
        }
    }
}
