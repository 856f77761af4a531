import LiveUpdates

/// A message from a client that holds its next token: `{"token":"…"}`, whatever stands beside it.
package struct SentToken: Sendable, Equatable {
    /// As many bytes as the message may have, whatever the limit of messages is: room for any token that is read.
    package static let maximumMessageBytes = 16 * 1024

    /// Nil where what stands there is not one text.
    package let token: [UInt8]?

    /// Nil for any other message. What is not JSON holds no token, however it begins.
    ///
    /// - Parameter message: text, of at most ``maximumMessageBytes``.
    package init?(_ message: [UInt8]) {
        let limits = JSONLimits(maximumBytes: Self.maximumMessageBytes, maximumDepth: JOSEObject.maximumDepth)
        guard let members = (try? JSONDocument(message, limits: limits))?.root.members else { return nil }
        let name = Array("token".utf8)
        let tokens = members.filter { $0.name.map { Array($0.utf8) } == name }
        guard let first = tokens.first else { return nil }
        // Of two nobody knows which one is meant.
        token = tokens.count == 1 ? first.value.string.map { Array($0.utf8) } : nil
    }
}

/// What becomes of the token that a client has sent for its open stream.
package enum TokenRenewal: Sendable {
    /// The stream goes on with this token.
    case taken(Identity)
    /// The token is not a text, is not accepted, or is another account's.
    case refused(TokenRefusal)
    /// The token cannot be checked now: the stream goes on as it was, with the one that it has.
    case later
    /// Another server has to be asked first; the token is decided again with what was found.
    case ask(TokenQuestion)

    /// Judges a token by what is known here.
    ///
    /// - Parameters:
    ///   - account: whose stream it is.
    ///   - now: seconds since 1970.
    ///   - isAsked: whether the one question that a token may cost was answered.
    package static func decide(
        _ sent: SentToken, account: Account, verifier: TokenVerifier, now: Int64, isAsked: Bool = false
    ) -> TokenRenewal {
        guard let token = sent.token else { return .refused(.malformed(.token)) }
        let verdict = verifier.verify(token, now: now)
        if case .failure(.undecided(let question)) = verdict {
            return isAsked ? .refused(question.refusal) : .ask(question)
        }
        return decide(verdict, account: account)
    }

    /// What follows from what is known of a token.
    package static func decide(_ verdict: Result<Identity, TokenRefusal>, account: Account) -> TokenRenewal {
        switch verdict {
        case .success(let identity): identity.account == account ? .taken(identity) : .refused(.account)
        // Whoever comes to the door with it is asked to come back (503).
        case .failure(.unavailable): .later
        case .failure(let why): .refused(why)
        }
    }
}

/// The tokens that a client has sent and that are not decided yet, in their order: one, and while another server is asked about
/// that, the newest of those that came meanwhile. It takes the place of the others, which it would have replaced anyway.
package struct SentTokens: Sendable {
    /// The one whose turn it is.
    package private(set) var current: SentToken?
    /// Whether it waits for what another server says of it.
    package private(set) var isAsked = false
    private var next: SentToken?

    package init() {}

    package mutating func add(_ sent: SentToken) {
        if current == nil { current = sent } else { next = sent }
    }

    /// Another server is asked about the current one.
    package mutating func asks() {
        precondition(current != nil && !isAsked, "a question about no token, or a second one")
        isAsked = true
    }

    /// The current one is decided.
    package mutating func decided() {
        current = next.take()
        isAsked = false
    }
}
