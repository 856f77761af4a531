import LiveUpdates

/// What becomes of a message from a client on an open stream: `{"token":"…"}` is its next token, everything else is
/// ignored.
package enum TokenRenewal: Sendable {
    /// As many bytes as the message may have, whatever the limit of messages is: room for any token that is read.
    package static let maximumMessageBytes = 16 * 1024

    /// Any other message.
    case noToken
    /// The stream goes on with this token.
    case taken(Identity)
    /// The token is not a text, is not accepted, or is another account's.
    case refused
    /// The token cannot be checked now: the stream goes on as it was, with the one that it has.
    case later

    /// Whether the message held a token, of which the check has its cost.
    package var wasJudged: Bool { if case .noToken = self { false } else { true } }

    /// Judges a message by what it holds, whatever stands beside the token. What is not JSON is no token, however it begins.
    ///
    /// - Parameters:
    ///   - message: text, of at most ``maximumMessageBytes``.
    ///   - account: whose stream it is.
    ///   - now: seconds since 1970.
    package static func decide(
        _ message: [UInt8], account: Account, verifier: TokenVerifier, now: Int64
    ) -> TokenRenewal {
        let tokens = tokens(in: message)
        guard !tokens.isEmpty else { return .noToken }
        // Of two nobody knows which one is meant.
        guard tokens.count == 1, let token = tokens[0].string else { return .refused }
        switch verifier.verify(Array(token.utf8), now: now) {
        case .success(let identity): return identity.account == account ? .taken(identity) : .refused
        // Whoever comes to the door with it is asked to come back (503), or waits for a key.
        case .failure(.unavailable), .failure(.undecided): return .later
        case .failure: return .refused
        }
    }

    /// The values of all members with the name.
    private static func tokens(in message: [UInt8]) -> [JSONValue] {
        let limits = JSONLimits(maximumBytes: maximumMessageBytes, maximumDepth: JOSEObject.maximumDepth)
        guard let members = (try? JSONDocument(message, limits: limits))?.root.members else { return [] }
        let name = Array("token".utf8)
        return members.compactMap { member in
            member.name.map { Array($0.utf8) } == name ? member.value : nil
        }
    }
}
