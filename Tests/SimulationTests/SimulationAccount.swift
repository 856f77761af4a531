import KafkaLogs
import LiveUpdates

// How what happens is told: short, and with times since the history began.
extension Simulation {
    static let beginning: Int64 = 1_000_000_000_000

    static func text(_ moment: Int64?) -> String { moment.map { "\($0 - beginning)" } ?? "never" }

    static func text(_ change: LogChange) -> String {
        switch change {
        case .found(let name): return "partition \(name.number) is found"
        case .identified(_, let id): return "the topic's id is \(id % 1_000)"
        case .vanished(let name): return "partition \(name.number) does not exist"
        case .recreated: return "the topic was recreated: everybody resyncs"
        case .recordsLost(let name, let loss):
            return "records of partition \(name.number) were lost (\(loss)): everybody resyncs"
        case .facts(let name, let facts):
            let end = facts.end.map { "\($0)" } ?? "?"
            var line = "partition \(name.number): start \(facts.start), next \(facts.next), end \(end)"
            line += ", known \(text(facts.known))"
            if let born = facts.born { line += ", born \(text(born))" }
            if let notBefore = facts.notBefore { line += ", not before \(text(notBefore))" }
            if let unread = facts.unread {
                line += ", unread: stamped before \(text(unread.stampedBefore)), arrived before"
                line += " \(text(unread.arrivedBefore))"
            }
            return facts.topicID.map { "\(line), id \($0 % 1_000)" } ?? line
        }
    }

    static func text(_ cursor: [UInt8]) -> String {
        guard let cursor = Cursor(cursor) else { return "no cursor" }
        let positions = cursor.positions.map { "\($0.partition.number):\($0.offset) known \(text($0.known))" }
        var line = "cursor [\(positions.joined(separator: ", "))] issued \(text(cursor.issue))"
        if let until = cursor.readUntil { line += ", read until \(until == .min ? "?" : text(until))" }
        line += ", topics known \(text(cursor.topicsKnown))"
        if let mark = cursor.fingerprint { line += ", last event \(mark.partition.number):\(mark.offset)" }
        return cursor.topicIDs.map { "\(line), ids \($0 % 1_000)" } ?? line
    }

    static func text(_ answer: Resumption) -> String {
        switch answer {
        case .accepted(_, let floors): floors.isEmpty ? "accepted" : "accepted with \(floors.count) floors"
        case .refused(let reason): "refused, \(reason)"
        case .undecided(let doubt): "undecided, \(doubt)"
        }
    }
}

/// What came of the clients' cursors, to see that a run has had a bit of everything.
struct SimulationOutcomes {
    var served = 0
    var refused: [ResyncReason: Int] = [:]
    var undecided = 0
    var lost = 0
    var recreated = 0
    var floors = 0
    var pages = 0
    var pagesRefused = 0

    mutating func add(_ other: SimulationOutcomes) {
        served += other.served
        refused.merge(other.refused, uniquingKeysWith: +)
        undecided += other.undecided
        lost += other.lost
        recreated += other.recreated
        floors += other.floors
        pages += other.pages
        pagesRefused += other.pagesRefused
    }
}

extension HistoryLimits {
    /// Room for whatever a test does; where a limit matters the test sets it.
    init() {
        self.init(
            retentionMilliseconds: 24 * 3_600_000, maximumEventsPerAccount: 1_000, maximumLogBytes: 256 << 20,
            maximumTimestampDelayMilliseconds: 3_600_000)
    }
}
