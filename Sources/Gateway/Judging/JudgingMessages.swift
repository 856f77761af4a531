import Synchronization
import Tokens

/// A request waits until something is known of its token.
struct JudgingRequest: Sendable {
    let question: TokenQuestion
    let loop: Int
    let connection: ConnectionID
    /// Above 0: the token is that of the connection's open stream, and is asked about once more.
    var recheck: UInt32 = 0
}

/// What a request that waits is told.
struct JudgingAnswer: Sendable {
    let connection: ConnectionID
    let finding: JudgingFinding
    let recheck: UInt32

    init(_ request: JudgingRequest, _ finding: JudgingFinding) {
        connection = request.connection
        recheck = request.recheck
        self.finding = finding
    }
}

enum JudgingFinding: Sendable {
    /// What could be found out was: judged now, the token is known or is not.
    case decideAgain
    /// This is what came of it.
    case judged(Result<Identity, TokenRefusal>)
}

/// What was asked of other servers since the start. Any thread may read it.
final class JudgingCounters: Sendable {
    let keyFetchesOK = Atomic<Int>(0)
    let keyFetchesFailed = Atomic<Int>(0)
    let introspectionsActive = Atomic<Int>(0)
    let introspectionsInactive = Atomic<Int>(0)
    let introspectionsFailed = Atomic<Int>(0)
}
