/// Joins whose cursors cannot be decided on yet, and what each of them waits for.
///
/// Each is decided on again when that has changed, not with every wake: the log was read, or its end requested, as far as the
/// cursor reaches; its record was read once more; or the wait is over. No clock, no I/O; `now` is monotonic, in ms.
package struct UndecidedJoins<Joiner: Hashable> {
    /// In all: one wake needs some 100 µs to check them.
    package static var maximumJoins: Int { 4_096 }
    /// A client has one join. So many of one account may wait that no client needs a workaround.
    package static var maximumJoinsPerAccount: Int { 64 }
    /// Records that may be requested at a time.
    package static var maximumProbes: Int { 64 }
    /// How long a join waits for metadata refreshes: two of them and their duration. No client is refused because the broker
    /// cannot be asked.
    package static var patienceMilliseconds: UInt64 { 6_000 }

    /// A record that is to be read once more.
    package struct Probe: Hashable, Sendable {
        package let partition: PartitionName
        package let offset: Int64

        package init(partition: PartitionName, offset: Int64) {
            self.partition = partition
            self.offset = offset
        }
    }

    private struct Join {
        let joiner: Joiner
        /// Joins are decided on in the order in which they came.
        let number: UInt64
        let account: Account
        let cursor: Cursor
        let entities: EntityFilter?
        var doubt: Doubt
        /// Only ends that were requested at this moment or later count.
        var moment: UInt64
        /// Whether one refresh has found it ahead: the next one must do so too. A broker that was paused may assume to be a
        /// leader when it wakes, and report the end of that time.
        var wasAhead = false
        var record: ProbedRecord?
        var firsts: [PartitionName: ProbedRecord] = [:]

        /// The record that it waits for; nil where that is known, or it waits for something else.
        var awaitedRecord: Probe? {
            switch doubt {
            case .record(let partition, let offset):
                record == nil ? Probe(partition: partition, offset: offset) : nil
            case .firstRecord(let partition): firsts[partition] == nil ? Probe(partition: partition, offset: 0) : nil
            case .epoch, .ends: nil
            }
        }

        mutating func take(_ found: ProbedRecord) {
            if case .firstRecord(let partition) = doubt { firsts[partition] = found } else { record = found }
        }

        var deadline: UInt64 { moment + UndecidedJoins.patienceMilliseconds }
    }

    private var joins: [Joiner: Join] = [:]
    private var lastNumber: UInt64 = 0
    /// Joins that have left since it was last determined what is awaited: some of it may be theirs.
    private var left = 0
    private var perAccount: [Account: Int] = [:]
    /// By partition the lowest offset and moment that a join waits for; checked before the joins are.
    private var awaited: [PartitionName: (offset: Int64, moment: UInt64)] = [:]
    private var nextDeadline = UInt64.max
    private var waitsForEpoch = false
    /// False: not requested yet.
    private var probes: [Probe: Bool] = [:]
    /// How often a cursor was compared with the history, for tests.
    private(set) var decisions = 0
    /// How often it was checked whether what a join awaits is known, for tests.
    private(set) var checks = 0
    /// How often it was noted what a join awaits, for tests.
    private(set) var notes = 0

    package init() {}

    package var isEmpty: Bool { joins.isEmpty }
    package var count: Int { joins.count }
    /// Whether a join waits for the ends of logs.
    package var waitsForEnds: Bool { !awaited.isEmpty }

    /// Keeps a join. Where too many wait already, returns what becomes of it at once. It then counts as if no broker could be
    /// asked, and is served if nothing else contradicts it.
    package mutating func add(
        _ joiner: Joiner, account: Account, cursor: Cursor, entities: EntityFilter? = nil, doubt: Doubt,
        history: History, now: UInt64, wallClock: Int64
    ) -> Resumption? {
        let waiting = perAccount[account, default: 0]
        guard joins.count < Self.maximumJoins, waiting < Self.maximumJoinsPerAccount else {
            return history.resume(cursor, account: account, entities: entities, now: wallClock, ends: .unknown)
        }
        perAccount[account] = waiting + 1
        lastNumber += 1
        let join = Join(
            joiner: joiner, number: lastNumber, account: account, cursor: cursor, entities: entities, doubt: doubt,
            moment: now)
        joins[joiner] = join
        expect(join)
        return nil
    }

    /// The join that is removed gets no answer. Constant time on average: what it awaited is forgotten later.
    package mutating func remove(_ joiner: Joiner) {
        guard let join = joins.removeValue(forKey: joiner) else { return }
        leave(join)
        left += 1
        if left > joins.count { expectAll() }
    }

    // MARK: - Records

    /// Whether there are records to be read once more that were not returned yet.
    package var wantsRecords: Bool { probes.values.contains(false) }

    /// Records to be read once more, each returned once.
    package mutating func takeProbes() -> [Probe] {
        let new = probes.filter { !$0.value }.keys.prefix(Self.maximumProbes)
        for probe in new { probes[probe] = true }
        return Array(new)
    }

    /// What was found at an offset. Joins that wait for it are decided on with the next ``decide(_:now:wallClock:)``.
    package mutating func probed(_ probe: Probe, found: ProbedRecord) {
        guard probes.removeValue(forKey: probe) != nil else { return }
        for (joiner, join) in joins where join.awaitedRecord == probe { joins[joiner]?.take(found) }
        nextDeadline = 0
    }

    /// Has a record returned once more whose request was not answered, as long as a join waits for it.
    package mutating func askAgain(_ probe: Probe) {
        if probes[probe] != nil { probes[probe] = false }
    }

    // MARK: - Deciding

    /// After a wake, a refresh or a probe: every join whose doubt is over. While nothing has moved it costs a check for each
    /// partition that is awaited, of which a join has one.
    package mutating func decide(_ history: History, now: UInt64, wallClock: Int64) -> [(Joiner, Resumption)] {
        guard !joins.isEmpty, hasMoved(history, now) else { return [] }
        var decided: [(Joiner, Resumption)] = []
        var over: [Join] = []
        for join in joins.values where isOver(join, history, now) { over.append(join) }
        for join in over.sorted(by: { $0.number < $1.number }) {
            let (resumption, rest) = decide(join, history, now: now, wallClock: wallClock)
            joins[join.joiner] = rest
            guard rest == nil else { continue }
            leave(join)
            decided.append((join.joiner, resumption))
        }
        expectAll()
        return decided
    }

    private mutating func hasMoved(_ history: History, _ now: UInt64) -> Bool {
        if now >= nextDeadline || waitsForEpoch && history.epoch != nil { return true }
        for (partition, least) in awaited {
            let floor = PartitionFloor(partition: partition, offset: least.offset)
            if isDecided(floor, since: least.moment, history) { return true }
        }
        return false
    }

    private mutating func isDecided(_ floor: PartitionFloor, since moment: UInt64, _ history: History) -> Bool {
        checks += 1
        return history.isDecided(floor, since: moment)
    }

    private mutating func isOver(_ join: Join, _ history: History, _ now: UInt64) -> Bool {
        if now >= join.deadline { return true }
        switch join.doubt {
        case .epoch: return history.epoch != nil
        case .record, .firstRecord: return join.awaitedRecord == nil
        case .ends(let floor): return isDecided(floor, since: join.moment, history)
        }
    }

    /// The join that goes on waiting, or none where it is decided.
    private mutating func decide(
        _ join: Join, _ history: History, now: UInt64, wallClock: Int64
    ) -> (Resumption, Join?) {
        var resumption = resume(join, history, ends: .since(join.moment), wallClock: wallClock)
        // The reports of the leaders that did answer count first: the one that was awaited may be silent.
        if now >= join.deadline, case .undecided = resumption {
            resumption = resume(join, history, ends: .unknown, wallClock: wallClock)
        }
        switch resumption {
        case .refused(.ahead) where !join.wasAhead:
            guard case .ends = join.doubt else { return (resumption, nil) }
            var rest = join
            rest.wasAhead = true
            rest.moment = join.cursor.positions.reduce(join.moment) { max($0, history.endAsked($1.partition)) } + 1
            let again = resume(rest, history, ends: .since(rest.moment), wallClock: wallClock)
            if case .undecided(let doubt) = again { rest.doubt = doubt }
            return (resumption, rest)
        case .undecided(let doubt):
            var rest = join
            rest.doubt = doubt
            // Only an epoch that is not known yet outlasts the wait: nothing can be decided without it.
            if now >= join.deadline { rest.moment = now }
            return (resumption, rest)
        case .accepted, .refused: return (resumption, nil)
        }
    }

    private mutating func resume(
        _ join: Join, _ history: History, ends: EndsSeen, wallClock: Int64
    ) -> Resumption {
        decisions += 1
        return history.resume(
            join.cursor, account: join.account, entities: join.entities, now: wallClock, ends: ends,
            record: join.record, firsts: join.firsts)
    }

    // MARK: - What is awaited

    private mutating func leave(_ join: Join) {
        let rest = perAccount[join.account, default: 1] - 1
        perAccount[join.account] = rest > 0 ? rest : nil
    }

    private mutating func expectAll() {
        awaited.removeAll(keepingCapacity: true)
        nextDeadline = .max
        waitsForEpoch = false
        let asked = probes
        probes = [:]
        left = 0
        for join in joins.values {
            expect(join)
            if let probe = join.awaitedRecord { probes[probe] = asked[probe] ?? false }
        }
    }

    private mutating func expect(_ join: Join) {
        notes += 1
        nextDeadline = min(nextDeadline, join.deadline)
        switch join.doubt {
        case .epoch: waitsForEpoch = true
        case .record, .firstRecord:
            if let probe = join.awaitedRecord, probes[probe] == nil { probes[probe] = false }
        case .ends(let floor):
            let least = awaited[floor.partition] ?? (.max, .max)
            awaited[floor.partition] = (min(least.offset, floor.offset), min(least.moment, join.moment))
        }
    }
}
