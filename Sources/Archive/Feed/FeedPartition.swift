import KafkaLogs

/// What a node knows of one partition that it reads for the archive.
struct FeedPartition {
    /// Which node writes it, and from which offset.
    enum Claim: Equatable {
        /// Nobody, or another node.
        case none
        /// This node, once the offset is known. The store has this one, of the log in ``FeedPartition/stored``.
        case unresolved(next: Int64?)
        /// This node, from this offset on.
        case at(Int64)
    }

    var generation: UInt32
    /// The next offset of live reading.
    var live: Int64?
    /// What was read live: each run begins at the end of the one before, and the last ends at the next offset of live reading.
    private(set) var chain: [RecordRun] = []
    private(set) var chainBytes = 0
    private(set) var claim = Claim.none
    /// What this node knows of the log; nil until it is reported, and where its buffers were dropped.
    private(set) var facts: LogFacts?
    /// What the store knows of the log in which the claim's offset counts.
    private(set) var stored = StoredLog()
    /// How the next run continues what was stored before.
    private(set) var continuation = ArchiveBatch.Continuation.same
    /// How far it was stored at a moment, by the wall clock: a proof of the log for a later moment covers all of that.
    private var noted: (next: Int64, moment: Int64)?
    /// A position is to be stored, even if nothing is read.
    private(set) var owesPosition = false
    /// What was read once more, from the claim's offset on.
    var reread: [RecordRun] = []
    /// The arrival of the first event that was dropped from memory and is not stored; nil: there is none.
    private var lostSince: Int64?
    private var cuts = ArrivalCuts()
    /// How far another node has stored it, when that was last asked.
    private var followed: Int64?
    /// Since when something waits to be stored; monotonic, in ms.
    var waitsSince: UInt64?

    init(generation: UInt32) { self.generation = generation }

    /// Runs of up to so many events are joined.
    static let smallRun = 512

    /// Receives what was read live.
    mutating func receive(_ run: RecordRun, now: UInt64) {
        if run.generation > generation { begin(run.generation) }
        guard run.generation == generation, live.map({ run.next >= $0 }) ?? true else { return }
        // Records in between were dropped earlier: they are read again.
        if run.after != live { lose(upTo: .max) }
        live = run.next
        if case .at(let position) = claim, run.next <= position { return }
        waitsSince = waitsSince ?? now
        if let last = chain.last, last.entries.count + run.entries.count <= Self.smallRun, run.after == run.from {
            let before = last.bytes
            chain[chain.count - 1].append(run)
            chainBytes += chain[chain.count - 1].bytes - before
        } else {
            chain.append(run)
            chainBytes += run.bytes
        }
    }

    /// Live reading went on, but its records were dropped.
    mutating func miss(_ end: LiveEnd, now: UInt64) {
        if end.generation > generation { begin(end.generation) }
        guard end.generation == generation, end.next > live ?? -1 else { return }
        lose(upTo: .max)
        lostSince = lostSince ?? end.arrival
        for cut in end.cuts.cuts { cuts.add(next: cut.next, moment: cut.moment) }
        live = end.next
        waitsSince = waitsSince ?? now
    }

    /// Another log has the name, or this one, or another of its topic, was cut back: which of these is still to be found out.
    private mutating func begin(_ generation: UInt32) {
        self.generation = generation
        live = nil
        facts = nil
        noted = nil
        (lostSince, cuts) = (nil, ArrivalCuts())
        drop(upTo: .max)
        unresolve()
    }

    // MARK: - Which log it is

    /// The time after which it is stored once more that the log is still this one. It allows for nodes whose clocks differ.
    static let renewalMilliseconds: Int64 = 300_000
    /// The same where the log has just been found to be another one, or cut back. Other nodes may notice that later, and
    /// believe only what was stored since. The time doubles.
    static let firstRenewalMilliseconds: Int64 = 2_000

    /// Receives what the node knows of the log. Where the store knows less of it, that is to be stored.
    ///
    /// Facts arrive some time after their proof was asked for. So a proof holds for what was stored before that question.
    mutating func learn(_ log: NotedLog, wallClock: Int64) {
        if log.generation > generation { begin(log.generation) }
        guard log.generation == generation else { return }
        facts = log.facts
        if let then = noted, let known = log.facts.known, known > then.moment {
            stored.prove(before: then.next)
            noted = nil
        }
        // After the clock was set back, the moment would not be reached for long.
        if case .at(let next) = claim, noted.map({ $0.moment > wallClock }) ?? true { noted = (next, wallClock) }
        noteDebt()
    }

    /// Whether what is stored is read once more, and nothing is known to be lost.
    private var isRepeating: Bool { continuation == .cutBack(since: nil) }

    private mutating func noteDebt() {
        guard case .at = claim, !isRepeating, let facts else { return }
        let known = KnownLog(facts)
        var isOld = false
        if let now = known.known, let then = stored.known.known {
            let noticed = [facts.notBefore, facts.wholeAfter].compactMap { $0 }.max()
            let young = noticed.map { max(then - $0, Self.firstRenewalMilliseconds) } ?? Self.renewalMilliseconds
            isOld = now - then >= min(young, Self.renewalMilliseconds)
        }
        let isBetter = stored.known.verdict(facts) != .same && known.verdict(facts) == .same
        if isOld || isBetter { owesPosition = true }
    }

    // MARK: - Which node writes it, and from which offset

    mutating func release() {
        claim = .none
        noted = nil
        reread = []
        owesPosition = false
    }

    /// The store has given it to this node.
    mutating func receive(_ claimed: ClaimedPartition) {
        claim = .unresolved(next: claimed.next)
        continuation = .same
        stored = claimed.log ?? StoredLog()
        if claimed.log == nil, let next = claimed.next, let stamp = claimed.stamp {
            stored = StoredLog(next: next, stamp: stamp)
        }
        if claimed.next == nil { stored.sure = 0 }
    }

    /// It has to be found out where it goes on.
    mutating func unresolve() {
        reread = []
        owesPosition = false
        continuation = .same
        noted = nil
        if case .at(let position) = claim { claim = .unresolved(next: position) }
    }

    /// It goes on there.
    mutating func resolve(_ resolution: ArchiveFeed.Resolution) {
        guard case .unresolved(let next) = claim else { return }
        let offset: Int64
        switch resolution {
        case .goOn(let at): (offset, continuation) = (at, .same)
        case .otherLog(let from):
            (offset, continuation) = (from, .otherLog(since: stored.sureStamp(at: next ?? 0)))
            stored = StoredLog(sure: 0)
        case .cutBack(let to, let since, let until):
            (offset, continuation) = (to, .cutBack(since: since))
            stored.cut(at: to)
            stored.until = until
            // Their first arrival is unknown by now: what an erasure of any time covers by its account stays erased.
            cuts.add(next: until, moment: ArrivalCuts.earliest)
        }
        claim = .at(offset)
        // Where nothing is known to be lost, what is stored counts until it is read once more.
        owesPosition = !isRepeating && (continuation != .same || next != offset)
        drop(upTo: offset)
        noteDebt()
        if !owesPosition, let live, live <= offset { waitsSince = nil }
    }

    /// A batch has stored it up to there.
    mutating func store(upTo next: Int64, _ log: StoredLog, now: UInt64) {
        claim = .at(next)
        let sure = stored.sure
        stored = log
        if let sure { stored.prove(before: sure) }
        if !isRepeating || log.until == nil { continuation = .same }
        owesPosition = false
        noteDebt()
        drop(upTo: next)
        forgetArrivals(upTo: next)
        reread.removeAll { $0.next <= next }
        waitsSince = live.map { $0 > next } == true ? now : nil
    }

    /// Drops what ends there or before.
    mutating func drop(upTo offset: Int64) {
        var count = 0
        while count < chain.count, chain[count].next <= offset {
            chainBytes -= chain[count].bytes
            count += 1
        }
        if count > 0 { chain.removeFirst(count) }
    }

    /// Another node has stored it so far.
    mutating func follow(_ position: StoredPosition, now: UInt64) {
        // The position is in a log that had the name before.
        if let facts, position.log?.verdict(facts) == .other { return }
        let next = position.next
        drop(upTo: next)
        forgetArrivals(upTo: next)
        defer { followed = next }
        guard let live else { return }
        if live <= next {
            waitsSince = nil
        } else if let followed, next > followed {
            waitsSince = now
        }
    }

    /// Drops the older half: what is dropped is read again.
    mutating func dropHalf() {
        guard let middle = chain.isEmpty ? nil : chain[(chain.count - 1) / 2].next else { return }
        lose(upTo: middle)
    }

    // MARK: - What was there before an erasure

    /// Drops what is to be read again.
    private mutating func lose(upTo offset: Int64) {
        lostSince = lostSince ?? chain.first { !$0.entries.isEmpty && $0.next <= offset }?.entries.first?.arrival
        drop(upTo: offset)
    }

    /// Something was erased that had arrived before a moment. What of it is still held, was dropped, or was just read again, is
    /// recognized later.
    mutating func erase(until moment: Int64) {
        cut(by: moment)
        reread = reread.map(cuts.applied)
    }

    private mutating func cut(by moment: Int64) {
        for run in chain.reversed() {
            guard let first = run.entries.first, first.arrival < moment,
                let last = run.entries.last(where: { $0.arrival < moment })
            else { continue }
            return cuts.add(next: last.offset + 1, moment: moment)
        }
        // For dropped events the time of arrival is unknown: an erasure that covers too little is worse than one that covers
        // too much.
        guard let lostSince, lostSince < moment, let end = chain.first?.after ?? live else { return }
        cuts.add(next: end, moment: moment)
    }

    /// Adds a run that was read again, with the moments before which its events first arrived.
    mutating func append(reread run: RecordRun) { reread.append(cuts.applied(to: run)) }

    private mutating func forgetArrivals(upTo offset: Int64) {
        cuts.drop(upTo: offset)
        if let end = chain.first?.after ?? live, offset >= end { lostSince = nil }
    }

    /// The range to read again before the live records can follow, if any.
    var behind: Range<Int64>? {
        guard case .at(let position) = claim, reread.isEmpty, let live else { return nil }
        let end = chain.first?.after ?? live
        return position < end ? position..<end : nil
    }

    /// What can be stored now, in its order.
    var ready: [RecordRun] {
        guard case .at(let position) = claim else { return [] }
        if !reread.isEmpty { return reread }
        guard let first = chain.first, first.after <= position else { return [] }
        return chain
    }
}
