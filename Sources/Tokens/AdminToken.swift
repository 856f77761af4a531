import TLS

/// The one token that the administration asks for. Only its hash is kept.
package struct AdminToken: Sendable {
    /// The token's line, with room for blanks.
    package static let maximumFileBytes = 4096
    private let digest: [UInt8]

    /// Reads the file of the token: one line. Nil where it is empty, or has a character that no token has.
    package init?(_ file: [UInt8]) {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0D, 0x0A]
        guard let first = file.firstIndex(where: { !blanks.contains($0) }),
            let last = file.lastIndex(where: { !blanks.contains($0) })
        else { return nil }
        let token = Array(file[first...last])
        guard BearerToken.read(Array("Bearer ".utf8)[...] + token) == token else { return nil }
        digest = Digest.sha256(token)
    }

    /// Whether the values of all `Authorization` headers of a request are this token, once. Takes as long whatever was
    /// tried: hashes are compared, in constant time.
    package func isGiven(in authorization: [ArraySlice<UInt8>]) -> Bool {
        guard authorization.count == 1, let token = BearerToken.read(authorization[0]) else { return false }
        return constantTimeEquals(Digest.sha256(token), digest)
    }
}
