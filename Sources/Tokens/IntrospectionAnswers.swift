/// The known verdicts of another server about tokens, its open questions, and the callers that wait for them.
///
/// It asks nothing itself. Its owner reports events, in milliseconds of a clock that never goes back. A token is known by its
/// SHA-256. Bounds: ``maximumAnswers`` answers, ``maximumOpen`` questions, ``maximumWaiting`` callers.
package struct IntrospectionAnswers<Waiting> {
    /// Some hundred bytes each.
    package static var maximumAnswers: Int { 100_000 }
    /// The most questions that one node asks a token server at once.
    package static var maximumOpen: Int { 64 }
    /// Callers beyond this limit are asked to try again: each is a request with a head of up to 16 KiB.
    package static var maximumWaiting: Int { 1_000 }
    /// Further questions for tokens of open streams: callers with made-up tokens cannot use these.
    package static var reservedOpen: Int { 16 }

    package typealias Digest = [UInt8]

    package enum Reply {
        case known(Result<Identity, TokenRefusal>)
        /// The caller waits, and the question is to be asked now.
        case asks
        /// The caller waits for the answer to an earlier question.
        case waits
        /// There are too many questions, or too many waiting callers.
        case busy
    }

    private var accepted = KeptAnswers()
    private var refused = KeptAnswers()
    private var open: [Digest: [Waiting]] = [:]
    private var waitingCount = 0
    private let maximum: Int

    /// - Parameter maximumAnswers: less than the default in tests.
    package init(maximumAnswers: Int = Self.maximumAnswers) { maximum = maximumAnswers }

    package var openCount: Int { open.count }
    package var answerCount: Int { accepted.count + refused.count }
    /// The number of answers in the order of arrival, including replaced ones.
    var orderCount: Int { accepted.orderCount + refused.orderCount }

    /// - Parameters:
    ///   - epochSeconds: seconds since 1970. A token that has ended by this clock, which may have been set, is asked about again.
    ///   - isHeld: whether an admitted caller of the token is still there: it holds no request head while it waits.
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

    /// The question was answered. Returns the callers that waited for it.
    ///
    /// - Parameter milliseconds: how long the answer is kept; nil: not at all, because nothing is known.
    package mutating func answered(
        _ token: Digest, _ verdict: Result<Identity, TokenRefusal>, keepFor milliseconds: UInt64?, now: UInt64
    ) -> [Waiting] {
        let waiting = open.removeValue(forKey: token) ?? []
        waitingCount -= waiting.count
        guard let milliseconds, milliseconds > 0 else { return waiting }
        // Refusals are dropped first: a caller that makes up tokens displaces no good answer.
        while answerCount >= maximum { if !refused.dropOldest() { _ = accepted.dropOldest() } }
        if case .success = verdict {
            accepted.keep(token, verdict, until: now + milliseconds, now: now)
        } else {
            refused.keep(token, verdict, until: now + milliseconds, now: now)
        }
        return waiting
    }

    /// From now on, no answer counts longer than this.
    package mutating func keepAtMost(_ milliseconds: UInt64, now: UInt64) { accepted.keep(until: now + milliseconds) }

    /// Another server is asked from now on, so the answers of this one no longer count. Returns all waiting callers.
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

/// Answers in the order of arrival. Expired ones are removed when newer ones come.
private struct KeptAnswers {
    private struct Kept {
        let verdict: Result<Identity, TokenRefusal>
        var until: UInt64
        let number: UInt64
    }

    /// The order has at most twice as many entries as there are answers, and these. Beyond it, replaced entries are removed,
    /// because they may be behind an entry that is kept for long.
    private static let spareOrder = 64

    private var answers: [[UInt8]: Kept] = [:]
    /// The oldest is at `first`. Entries replaced since then have another number.
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

    /// Returns false if there is none.
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
