import TLS

/// The one token that the administration requires. Only its hash is kept.
package struct AdminToken: Sendable {
    /// The token's line, and space for blanks.
    package static let maximumFileBytes = 4096
    private let digest: [UInt8]

    /// Reads the file of the token: one line. Nil if it is empty, or has a character that tokens cannot have.
    package init?(_ file: [UInt8]) {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0D, 0x0A]
        guard let first = file.firstIndex(where: { !blanks.contains($0) }),
            let last = file.lastIndex(where: { !blanks.contains($0) })
        else { return nil }
        let token = Array(file[first...last])
        guard BearerToken.read(Array("Bearer ".utf8)[...] + token) == token else { return nil }
        digest = Digest.sha256(token)
    }

    /// Whether all `Authorization` headers of a request hold this token, once. The time is the same for every attempt: hashes are
    /// compared, in constant time.
    package func isGiven(in authorization: [ArraySlice<UInt8>]) -> Bool {
        guard authorization.count == 1, let token = BearerToken.read(authorization[0]) else { return false }
        return constantTimeEquals(Digest.sha256(token), digest)
    }
}
