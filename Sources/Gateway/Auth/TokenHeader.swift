/// What the header of a token says, as far as it may say anything (RFC 7515 §4.1).
///
/// `jku`, `x5u`, `jwk` and `x5c` bring or name keys: they are not looked at, keys come from the settings alone.
struct TokenHeader {
    let algorithm: SignatureAlgorithm
    let keyName: [UInt8]?

    init(_ text: [UInt8]) throws(TokenRefusal) {
        guard let members = JOSEObject(text) else { throw .malformed(.header) }
        // RFC 7515 §4.1.11, RFC 7797 §6: whoever does not understand what is critical refuses the token.
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
