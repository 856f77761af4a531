/// What is known of tokens that another server judges, which questions are open, and who waits for them.
///
/// A value that asks nothing: it is told what happened, in milliseconds of a clock that never goes back. Tokens are known by
/// their SHA-256. Bounds: ``maximumAnswers`` answers, ``maximumOpen`` questions, ``maximumWaiting`` who wait.
package struct IntrospectionAnswers<Waiting> {
    /// Some hundred bytes each.
    package static var maximumAnswers: Int { 100_000 }
    /// What a server of tokens is asked at once, by one node.
    package static var maximumOpen: Int { 64 }
    /// Those who wait beyond it are told to come again: each is a request with a head of up to 16 KiB.
    package static var maximumWaiting: Int { 1_000 }
    /// Questions that may be open beside those for tokens of open streams: whoever comes with made-up tokens takes none of these.
    package static var reservedOpen: Int { 16 }

    package typealias Digest = [UInt8]

    package enum Reply {
        case known(Result<Identity, TokenRefusal>)
        /// It waits, and the question is to be asked now.
        case asks
        /// It waits for the answer to a question that was asked before.
        case waits
        /// There are too many questions, or too many who wait.
        case busy
    }

    private var accepted = KeptAnswers()
    private var refused = KeptAnswers()
    private var open: [Digest: [Waiting]] = [:]
    private var waitingCount = 0
    private let maximum: Int

    /// - Parameter maximumAnswers: less than the usual for tests.
    package init(maximumAnswers: Int = Self.maximumAnswers) { maximum = maximumAnswers }

    package var openCount: Int { open.count }
    package var answerCount: Int { accepted.count + refused.count }
    /// What the answers take in the order in which they came, of those that were replaced too.
    var orderCount: Int { accepted.orderCount + refused.orderCount }

    /// - Parameters:
    ///   - epochSeconds: since 1970. A token that has ended by this clock, which may have been set, is asked for anew.
    ///   - isHeld: somebody was let in with the token, and is still there: such a one holds no head while it waits.
    package mutating func ask(
        _ token: Digest, _ who: Waiting, now: UInt64, epochSeconds: Int64, isHeld: Bool = false
    ) -> Reply {
        if let known = accepted.find(token, now: now) ?? refused.find(token, now: now), !known.hasEnded(epochSeconds) {
            return .known(known)
        }
        let isOpen = open[token] != nil
        let maximumOpen = Self.maximumOpen + (isHeld ? Self.reservedOpen : 0)
        guard isHeld || waitingCount < Self.maximumWaiting, isOpen || open.count < maximumOpen else { return .busy }
        open[token, default: []].append(who)
        waitingCount += 1
        return isOpen ? .waits : .asks
    }

    /// The question was answered. Returns who waited for it.
    ///
    /// - Parameter milliseconds: how long the answer is kept; nil: not at all, since nothing is known.
    package mutating func answered(
        _ token: Digest, _ verdict: Result<Identity, TokenRefusal>, keepFor milliseconds: UInt64?, now: UInt64
    ) -> [Waiting] {
        let waiting = open.removeValue(forKey: token) ?? []
        waitingCount -= waiting.count
        guard let milliseconds, milliseconds > 0 else { return waiting }
        // Refusals give way first: whoever makes up tokens pushes out nobody's good one.
        while answerCount >= maximum { if !refused.dropOldest() { _ = accepted.dropOldest() } }
        if case .success = verdict {
            accepted.keep(token, verdict, until: now + milliseconds, now: now)
        } else {
            refused.keep(token, verdict, until: now + milliseconds, now: now)
        }
        return waiting
    }

    /// Answers count no longer than this from now on.
    package mutating func keepAtMost(_ milliseconds: UInt64, now: UInt64) { accepted.keep(until: now + milliseconds) }

    /// Another server is asked from now on: nothing counts that this one has said. Returns all who wait.
    package mutating func forgetAll() -> [Waiting] {
        let waiting = open.values.flatMap(\.self)
        self = Self(maximumAnswers: maximum)
        return waiting
    }
}

extension Result where Success == Identity, Failure == TokenRefusal {
    fileprivate func hasEnded(_ epochSeconds: Int64) -> Bool {
        guard case .success(let identity) = self, let end = identity.expiresAt else { return false }
        return end <= epochSeconds
    }
}

/// Answers in the order in which they came. Those that are over go when newer ones come.
private struct KeptAnswers {
    private struct Kept {
        let verdict: Result<Identity, TokenRefusal>
        var until: UInt64
        let number: UInt64
    }

    /// The order has at most twice as many places as there are answers, and these: then those that were replaced, which may
    /// stand behind one that is kept for long, are taken out of it.
    private static let spareOrder = 64

    private var answers: [[UInt8]: Kept] = [:]
    /// The oldest stands at `first`; those that were replaced meanwhile have another number.
    private var order: [(token: [UInt8], number: UInt64)] = []
    private var first = 0
    private var number: UInt64 = 0

    var count: Int { answers.count }
    var orderCount: Int { order.count - first }

    mutating func keep(until latest: UInt64) {
        for (token, kept) in answers where kept.until > latest { answers[token]?.until = latest }
    }

    func find(_ token: [UInt8], now: UInt64) -> Result<Identity, TokenRefusal>? {
        guard let kept = answers[token], now < kept.until else { return nil }
        return kept.verdict
    }

    mutating func keep(_ token: [UInt8], _ verdict: Result<Identity, TokenRefusal>, until: UInt64, now: UInt64) {
        number += 1
        answers[token] = Kept(verdict: verdict, until: until, number: number)
        order.append((token, number))
        while first < order.count {
            let (oldest, number) = order[first]
            if let kept = answers[oldest], kept.number == number {
                guard kept.until <= now else { break }
                answers[oldest] = nil
            }
            passOne()
        }
        guard orderCount > 2 * answers.count + Self.spareOrder else { return }
        order = order[first...].filter { answers[$0.token]?.number == $0.number }
        first = 0
    }

    /// False when there is none.
    mutating func dropOldest() -> Bool {
        while first < order.count {
            let (oldest, number) = order[first]
            passOne()
            if answers[oldest]?.number == number {
                answers[oldest] = nil
                return true
            }
        }
        return false
    }

    private mutating func passOne() {
        first += 1
        if first > order.count / 2 {
            order.removeFirst(first)
            first = 0
        }
    }
}
