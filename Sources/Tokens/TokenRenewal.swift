import LiveUpdates

/// A message from a client that contains its next token: `{"token":"…"}`, with any other members.
package struct SentToken: Sendable, Equatable {
    /// The most bytes of the message, whatever the limit of messages is: enough for any token that is read.
    package static let maximumMessageBytes = 16 * 1024

    /// Nil if the value is not exactly one text.
    package let token: [UInt8]?

    /// Nil for any other message. Text that is not JSON contains no token, however it begins.
    ///
    /// - Parameter message: text of at most ``maximumMessageBytes``.
    package init?(_ message: [UInt8]) {
        let limits = JSONLimits(maximumBytes: Self.maximumMessageBytes, maximumDepth: JOSEObject.maximumDepth)
        guard let members = (try? JSONDocument(message, limits: limits))?.root.members else { return nil }
        let name = Array("token".utf8)
        let tokens = members.filter { $0.name.map { Array($0.utf8) } == name }
        guard let first = tokens.first else { return nil }
        // If there are two, it is unclear which one was meant.
        token = tokens.count == 1 ? first.value.string.map { Array($0.utf8) } : nil
    }
}

/// The decision about the token that a client has sent for its open stream.
package enum TokenRenewal: Sendable {
    /// The stream continues with this token.
    case taken(Identity)
    /// The token is not a text, is not accepted, or belongs to another account.
    case refused(TokenRefusal)
    /// The token cannot be checked now: the stream continues with its present token.
    case later
    /// Another server must be asked first. The token is then decided again with the answer.
    case ask(TokenQuestion)

    /// Checks a token by what is known here.
    ///
    /// - Parameters:
    ///   - account: the account of the stream.
    ///   - now: seconds since 1970.
    ///   - isAsked: whether the one question that is allowed for a token was answered.
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

    /// The decision that follows from the verdict about a token.
    package static func decide(_ verdict: Result<Identity, TokenRefusal>, account: Account) -> TokenRenewal {
        switch verdict {
        case .success(let identity): identity.account == account ? .taken(identity) : .refused(.account)
        // A new connection with this token is asked to retry (503).
        case .failure(.unavailable): .later
        case .failure(let why): .refused(why)
        }
    }
}

/// The undecided tokens that a client has sent, in order: one, and the newest of those that came while another server was asked
/// about it. It replaces the others, which it would have replaced anyway.
package struct SentTokens: Sendable {
    /// The token that is decided next.
    package private(set) var current: SentToken?
    /// Whether it waits for the answer of another server.
    package private(set) var isAsked = false
    private var next: SentToken?

    package init() {}

    package mutating func add(_ sent: SentToken) {
        if current == nil { current = sent } else { next = sent }
    }

    /// Another server is asked about the current token.
    package mutating func asks() {
        precondition(current != nil && !isAsked, "a question about no token, or a second one")
        isAsked = true
    }

    /// The current token is decided.
    package mutating func decided() {
        current = next.take()
        isAsked = false
    }
}
