import Synchronization
import Tokens

/// A request waits until something is known of its token.
struct TokenLookupRequest: Sendable {
    let question: TokenQuestion
    let loop: Int
    let connection: ConnectionID
    /// Above 0: the token is that of the connection's open stream, and is asked about once more.
    var recheck: UInt32 = 0
}

/// The answer to a request that waits.
struct TokenLookupAnswer: Sendable {
    let connection: ConnectionID
    let finding: TokenLookupResult
    let recheck: UInt32

    init(_ request: TokenLookupRequest, _ finding: TokenLookupResult) {
        connection = request.connection
        recheck = request.recheck
        self.finding = finding
    }
}

enum TokenLookupResult: Sendable {
    /// The search has ended: a new check now either knows the token or refuses it.
    case decideAgain
    /// The verdict itself.
    case checked(Result<Identity, TokenRefusal>)
}

/// What was asked of other servers since the start. Any thread may read it.
final class TokenLookupCounters: Sendable {
    let keyFetchesOK = Atomic<Int>(0)
    let keyFetchesFailed = Atomic<Int>(0)
    let introspectionsActive = Atomic<Int>(0)
    let introspectionsInactive = Atomic<Int>(0)
    let introspectionsFailed = Atomic<Int>(0)
}
