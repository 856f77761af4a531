/// Where reading of a partition begins.
enum Origin: Equatable {
    /// It was there when its topic was first found: at the start of the window, or at its end where there is no window.
    case window
    /// It was created while the node was running, or its position was lost.
    case logStart
}

/// What was last reported to the operator about a topic.
enum TopicSituation: Equatable { case unknown, present, missing, gone, forbidden, unclear }

/// What is known of a topic.
struct TrackedTopic {
    let name: String
    var situation = TopicSituation.unknown
    /// Whether it was found or missing before: what appears later was created while the node was running.
    var isSeen = false
    /// How many metadata answers have listed its partitions, or reported that it does not exist.
    var answers = 0
    /// Nil where broker or library know none, or no leader has reported it yet.
    var id: TopicID?
    /// When the leader that reported it last was asked; wall clock.
    var identifiedAt: Int64?
    /// The last ids before it: a broker that is behind may still report them.
    var formerIDs: [TopicID] = []
    /// One of those that all leaders report, and since when they do so in each refresh; monotonic.
    var returning: (id: TopicID, since: Int64)?
    /// Incremented when each of its names has another log; answers about the former logs are useless then.
    var incarnation = 0
    /// Whether the logs that were read are gone, and that is not reported yet: it is once the new ones exist.
    var owesRecreated = false
    /// The last moment at which a log that is gone was still known to be there; wall clock.
    var lastKnownBefore: Int64?
    /// When a log was found to be cut back that kept its id; wall clock.
    var lastWhole: Int64?
    /// Refreshes since the situation was reported; it is reported again from time to time while it lasts.
    var refreshesSinceNotice = 0
    /// Whether fetches are refused because the Read right is missing.
    var isUnreadable = false
    /// By partition number.
    var partitions: [TrackedPartition] = []
}

/// Where reading of a log began.
struct Opening: Equatable {
    var start: Int64
    /// Where the log began then: no leader that has what was read begins before it.
    var logStart: Int64
    /// The log's end then: the window is loaded when it has been read up to here.
    var loadUntil: Int64
    /// What was not read before `start`.
    var unread: LogFacts.Unread?
    var liveFrom: Int64
    var born: Int64?
    /// When the record at offset 0 was read, by the wall clock; nil where another was read first, or none yet.
    var firstReadAt: Int64?
    /// See `LogFacts.firstStamp`.
    var firstStamp: Int64?
    /// Whether reading began at the log start, and no good stamp was read yet. The first one shows when the log was empty, or had
    /// only what was removed from it.
    var readsFirst: Bool
    /// No record before `start` has this time or a later one, by the leader's answer.
    var windowStart: Int64?
    /// Wall clock.
    var opened: Int64
}

/// What is known of the log of a partition, and how it is read: each fact once.
struct TrackedPartition {
    /// A batch that cannot be read.
    enum Failure: Equatable {
        /// It is being read a second time, from this position.
        case reread(from: Int64)
        /// Could not be read twice; what comes next is behind it.
        case confirmed(at: Int64)
        /// Nothing comes from behind it: reading stopped at this moment (monotonic), until it is known where to go on.
        case stopped(at: Int64, since: Int64)
    }

    var leader: Int32?
    /// The topic's id, as its own leader reported it for the log that is read: when it was opened, or once that was found to be
    /// the same. Nil until then.
    var provedID: TopicID?
    var origin: Origin
    /// Nil until its leader has reported where reading begins.
    var opening: Opening?
    /// Its opening before the log lost our position; reading continues at the log start once that is reported.
    var lostOpening: Opening?
    /// How often its leader refused to report where the window begins.
    var windowRefusals = 0
    /// How many requests for its first record, or for the one before the start, stayed unanswered.
    var failedFirstRecords = 0
    /// When the refresh began that opened it.
    var openedRefresh: Moment?
    /// Whether the consumer reads it.
    var isAssigned = false
    /// Whether what the consumer brings is of an earlier assignment, until the next is made.
    var isOutdated = false
    /// Whether a fetch was ever answered, with records or with the end.
    var hasAnswered = false
    /// The offset of the next record.
    var next: Int64 = 0
    /// The offset behind the last record that was handed over; before the first record, where reading began. The leader has
    /// reported that no record lies between this and ``next``.
    var handedOver: Int64 = 0
    /// Below ``handedOver``, but never handed over: the position was set back to what is behind them.
    var passedOver: Range<Int64>?
    /// When the position was set back last; wall clock. Until then it may have been wrong.
    var wrongUntil: Int64?
    /// The position that the broker refused, until it is known why.
    var refused: Int64?
    /// When its position was given up last, monotonic: it is not given up twice in a second.
    var resumedAt: Int64?
    var failure: Failure?
    /// Where reading can go on, while that is searched for.
    var search: OffsetSearch?
    /// When a search began because the partition did not advance; monotonic.
    var searchedAt: Int64?
    /// What was read, to know the log again.
    var anchor = LogAnchor(next: 0)
    /// Nil until it is opened.
    var check: LogCheck?
    /// See `LogFacts.known`.
    var known: Int64?
    /// When a refresh last found the log to be the one that was opened, or as empty as that was; wall clock.
    private(set) var heldAt: Int64?
    var end: Int64?
    /// Monotonic.
    var endAsked: UInt64 = 0
    /// Wall clock.
    var endMoment: Int64?
    var watch: AnswerWatch
    /// Whether `LogChange.facts` are due.
    var isChanged = false
    var isFoundReported = false

    init(origin: Origin, now: Int64) {
        self.origin = origin
        watch = AnswerWatch(answeredAt: now)
    }

    /// Nothing of it was read yet. Whether the partition answers may be known from before. `before` is the last record before the
    /// start, where one is known.
    mutating func open(_ opening: Opening, before: RecordMark?) {
        self.opening = opening
        next = opening.start
        handedOver = opening.start
        passedOver = nil
        wrongUntil = nil
        refused = nil
        failure = nil
        search = nil
        anchor = LogAnchor(next: opening.start, last: before, broker: leader)
        check = LogCheck(start: opening.start, windowStart: opening.windowStart, last: before)
        known = nil
        heldAt = opening.opened
        provedID = nil
    }

    /// Where reading began, also while it is not known yet where it goes on.
    var lastOpening: Opening? { opening ?? lostOpening }
    /// Whether something of the window is still to be read.
    var isLoading: Bool { opening.map { next < $0.loadUntil } ?? true }
    /// Whether it has answered a fetch, and its window is read.
    var isLoaded: Bool { hasAnswered && !isLoading }

    /// Whether the log can be distinguished from a new and empty one.
    var isTellable: Bool { next > 0 || (end ?? 0) > 0 }

    /// The last moment at which the log was known by more than the reading of its first record. That record may have been the
    /// first of another log, which had the name by then.
    var provedAt: Int64? { known.map { min($0, heldAt ?? $0) } }

    /// `moment` is the latest one, even if it seems to be long before the one that is known: the clock was ahead then.
    mutating func prove(at moment: Int64) {
        heldAt = moment
        let known = known ?? .min
        guard isTellable, known < moment || known - Self.setBackMilliseconds > moment else { return }
        self.known = moment
        isChanged = true
    }

    /// Answers may be out of order with their questions by seconds at most.
    private static let setBackMilliseconds: Int64 = 60_000
}

/// Whether a partition answers, and moves on. Monotonic milliseconds.
struct AnswerWatch: Equatable {
    /// How long a partition may be silent from its first unanswered question on, or not advance although its log does.
    static let patience: Int64 = 2_000
    /// A silence of this length counts even if nothing was asked meanwhile: a refresh in progress may wait for another broker.
    static let longestSilence: Int64 = 4_500
    /// How long records may wait behind an open transaction: nearly all transactions end sooner.
    static let transactionPatience: Int64 = 5_000

    /// When anything of it was answered last, or when it was found.
    var answeredAt: Int64
    /// When a question first stayed unanswered since then: that may have been one connection that was cut.
    private(set) var silentSince: Int64?
    /// Since when the log's end is known to be further than what is read, with nothing read since.
    private(set) var behindSince: Int64?
    /// Since when the log has something behind all that may be read, with nothing read since: a transaction is open.
    private(set) var heldSince: Int64?

    mutating func answer(at moment: Int64) {
        answeredAt = max(answeredAt, moment)
        silentSince = nil
    }

    /// A question stayed unanswered.
    mutating func fallSilent(at moment: Int64) { silentSince = silentSince ?? moment }

    /// Something was read, or there is nothing to read.
    mutating func moveOn() { behindSince = nil }

    mutating func fallBehind(at moment: Int64) { behindSince = behindSince ?? moment }

    /// An open transaction holds back what comes next.
    mutating func hold(at moment: Int64) { heldSince = heldSince ?? moment }

    /// Something was read, or nothing is held back.
    mutating func release() { heldSince = nil }

    /// Whether a transaction has held back records for too long.
    func isHeld(_ now: Int64) -> Bool { heldSince.map { now - $0 >= Self.transactionPatience } ?? false }

    /// Since when it is stalled; nil if it is not.
    func stalledSince(_ now: Int64) -> Int64? {
        var since: Int64?
        let isSilent = silentSince.map { now - $0 >= Self.patience } ?? false
        if isSilent || now - answeredAt >= Self.longestSilence { since = answeredAt }
        if let behindSince, now - behindSince >= Self.patience { since = min(since ?? .max, behindSince) }
        if isHeld(now), let heldSince { since = min(since ?? .max, heldSince) }
        return since
    }

    /// Whether a question stayed unanswered, which does not count as an outage yet.
    func isSuspected(_ now: Int64) -> Bool { silentSince != nil && stalledSince(now) == nil }
}
