import Archive
import KafkaLogs
import LiveUpdates
import Testing

/// A rule that is left out or turned round on the way between the real parts: a simulation that does not find it is blind.
enum RuleMutant: CaseIterable {
    // What is missing then.
    case ignoresUnread, ignoresBirth, ignoresRecreationMoment, ignoresID, ignoresRecreation, ignoresLoss
    case believesEveryEnd, ignoresFingerprint, alwaysKnown, recordsUnanswered, recordsAbsent
    // Who is refused without need then.
    case absenceIsProof, staysUnread, forgetsEnds, believesStaleAnswer, bornNow
    // What a page and the events behind it come to then.
    case cursorTooFar, cursorTooEarly, hidesGaps, believesStoredLog, goesOnInAnyLog

    var isOfArchive: Bool {
        switch self {
        case .cursorTooFar, .cursorTooEarly, .hidesGaps, .believesStoredLog, .goesOnInAnyLog: true
        default: false
        }
    }

    /// What a page says of how far its partitions are stored. `facts`: of the logs that its node reads.
    func change(_ positions: [PartitionPosition], _ facts: (PartitionName) -> LogFacts?) -> [PartitionPosition] {
        let step: Int64 = self == .cursorTooFar ? 1 : self == .cursorTooEarly ? -1 : 0
        return positions.map { position in
            let read = self == .believesStoredLog ? facts(position.partition).map { KnownLog($0) } : nil
            return PartitionPosition(
                partition: position.partition, next: max(0, position.next + step), log: read ?? position.log,
                newest: position.newest)
        }
    }

    /// Where a writer goes on.
    func change(_ resolution: ArchiveFeed.Resolution, next: Int64?) -> ArchiveFeed.Resolution {
        guard self == .goesOnInAnyLog, let next else { return resolution }
        return .goOn(at: next)
    }

    func change(_ cursor: Cursor) -> Cursor {
        guard self == .ignoresFingerprint else { return cursor }
        var cursor = cursor
        cursor.fingerprint = nil
        return cursor
    }

    /// What a node is told of a record that it reads once more.
    func change(_ found: ProbedRecord) -> ProbedRecord {
        switch self {
        case .absenceIsProof: .record(timestamp: 7, account: nil)
        case .recordsUnanswered: .unanswered
        case .recordsAbsent: .none
        default: found
        }
    }

    func change(_ facts: LogFacts, _ now: Int64) -> LogFacts {
        var facts = facts
        switch self {
        case .ignoresUnread: facts.unread = nil
        case .ignoresBirth: facts.born = nil
        case .ignoresRecreationMoment: facts.notBefore = nil
        case .alwaysKnown: facts.known = now
        case .ignoresID: facts.topicID = facts.topicID.map { _ in 1 }
        case .believesEveryEnd: facts.end = 1 << 40
        case .staysUnread: facts.unread = .init(stampedBefore: nil, arrivedBefore: now)
        case .forgetsEnds: facts.end = 0
        case .bornNow: facts.born = now
        default: break
        }
        return facts
    }
}

/// What cannot fail proves nothing: each rule is left out or turned round once, and the judges have to see it.
@Suite struct `Mutants of the rules are found` {
    @Test(arguments: RuleMutant.allCases) func `by short or random histories`(_ mutant: RuleMutant) {
        guard !mutant.isOfArchive else {
            return search(mutant) { seed in
                let history = RandomArchiveHistory(seed: seed)
                return (history.setting, history.steps)
            }
        }
        var search = ExhaustiveSearch(ExhaustiveSearch.many, depth: 2, mutant: mutant)
        for ids in [Set<Int>(), [0, 1]] where search.findings.isEmpty {
            search.search(from: ExhaustiveSearch.beginning(ExhaustiveSearch.setting(ids), mutant: mutant), first: [])
        }
        if let finding = search.findings.first {
            return print("\(mutant): \(finding.problem)")
        }
        self.search(mutant) { seed in
            let history = RandomHistory(seed: seed)
            return (history.setting, history.steps)
        }
    }

    private func search(
        _ mutant: RuleMutant, _ make: (UInt64) -> (setting: SimulationSetting, steps: [SimulationStep])
    ) {
        for seed in 0..<20_000 {
            let history = make(UInt64(seed))
            guard let problem = Shrinking.problem(history.setting, history.steps, mutant: mutant) else { continue }
            return print("\(mutant), seed \(seed): \(problem)")
        }
        Issue.record("nobody notices \(mutant)")
    }
}
