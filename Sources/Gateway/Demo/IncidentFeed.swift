import LiveUpdates

/// Records as an incident-response monolith publishes them, for the demo. Incidents of several accounts go on at the same time,
/// with alerts, notes and responder requests among them.
///
/// Pure and deterministic: the same seed gives the same records. It has no clock. Each record contains when it is due, and
/// nothing is due before it is asked for. Its memory is bounded by `maximumOpenIncidents` an account.
package struct IncidentFeed: Sendable {
    /// One record, ready to be produced.
    package struct Record: Equatable, Sendable {
        /// Milliseconds since the feed began; never less than that of the record before.
        package let due: UInt64
        /// The key, so that the records of an account stay in order in one partition.
        package let account: String
        package let value: [UInt8]
        let change: FeedChange
    }

    /// Incidents of one account at a time: as many as fit on a screen.
    package static let maximumOpenIncidents = 12
    /// The time between two new incidents of one account, about.
    static let meanPauseMilliseconds: UInt64 = 4_000

    /// The mapping that the records are made for: alerts are dropped, what belongs to incidents gets short names.
    package static var mapping: EventMapping.Settings {
        var settings = EventMapping.Settings(preset: Preset.rails.rawValue)
        settings.rename = [
            EventMapping.Translation(from: "incidents::note", to: "note"),
            EventMapping.Translation(from: "incidents::responder_request", to: "responder_request"),
        ]
        return settings
    }

    private let accounts: [String]
    private let startMilliseconds: Int64
    private var numbers: FeedNumbers
    private var pending = FeedAgenda()
    private var openIncidents: [Int]
    private var requestCount: UInt64 = 0

    /// - Parameters:
    ///   - accounts: at least one.
    ///   - startMilliseconds: what the records' own time stamps count from, since 1970.
    package init(seed: UInt64, accounts: [String], startMilliseconds: Int64) {
        precondition(!accounts.isEmpty, "a feed needs an account")
        self.accounts = accounts
        self.startMilliseconds = startMilliseconds
        numbers = FeedNumbers(seed: seed)
        openIncidents = accounts.map { _ in 0 }
        // The first account begins at once, with the incident that README shows; the others follow within moments.
        for account in accounts.indices {
            pending.add(FeedStep(due: UInt64(account) * 350, account: account, action: .open))
        }
    }

    /// The next record. It never ends: accounts keep having incidents.
    package mutating func next() -> Record {
        while true {
            guard let step = pending.popFirst() else { preconditionFailure("each account always has a next incident") }
            switch step.action {
            case .open: open(step)
            case .close: openIncidents[step.account] -= 1
            case .publish(let change): return record(of: change, at: step)
            }
        }
    }

    /// A new incident, unless too many are open, and the moment of the next one.
    private mutating func open(_ step: FeedStep) {
        let pause = numbers.around(Self.meanPauseMilliseconds)
        pending.add(FeedStep(due: step.due + pause, account: step.account, action: .open))
        guard openIncidents[step.account] < Self.maximumOpenIncidents else { return }
        openIncidents[step.account] += 1
        let isFirst = step.due == 0 && step.account == 0
        let life = IncidentLife(id: isFirst ? "PAM4FGS" : numbers.identifier(), numbers: &numbers)
        for moment in life.moments {
            pending.add(
                FeedStep(due: step.due + moment.after, account: step.account, action: .publish(moment.change)))
        }
        pending.add(FeedStep(due: step.due + life.lastsMilliseconds, account: step.account, action: .close))
    }

    private mutating func record(of change: FeedChange, at step: FeedStep) -> Record {
        requestCount += 1
        let account = accounts[step.account]
        let value = change.value(
            account: account, occurred: startMilliseconds + Int64(step.due), request: requestCount)
        return Record(due: step.due, account: account, value: value, change: change)
    }
}

/// What happened before the feed began.
extension IncidentFeed {
    /// A change of that time.
    package struct PastRecord: Sendable {
        /// Since 1970, in ms.
        package let moment: Int64
        package let account: String
        let change: FeedChange
    }

    /// Incidents of an account, each over before the next one begins.
    package static let pastIncidents = 6
    /// Between two of them. Each lasts minutes; a live one lasts seconds.
    static let pastPauseMilliseconds: Int64 = 1_800_000
    static let pastSlowness: UInt64 = 60

    /// The changes of the hours that ended a day before, in the order of their moments.
    package static func past(seed: UInt64, accounts: [String], before now: Int64) -> [PastRecord] {
        var numbers = FeedNumbers(seed: seed)
        var records: [PastRecord] = []
        for number in 0..<pastIncidents {
            let start = now - 86_400_000 - Int64(pastIncidents - number) * pastPauseMilliseconds
            for account in accounts {
                let life = IncidentLife(id: numbers.identifier(), numbers: &numbers)
                records += life.moments.map {
                    PastRecord(
                        moment: start + Int64($0.after * pastSlowness), account: account, change: $0.change)
                }
            }
        }
        return records.sorted { $0.moment < $1.moment }
    }
}

/// What happens at a moment of the feed.
struct FeedStep: Sendable {
    enum Action: Sendable {
        case open
        case publish(FeedChange)
        case close
    }

    let due: UInt64
    let account: Int
    let action: Action
}

/// The steps that follow, in the order of their moments. Steps of one moment keep the order in which they were added.
struct FeedAgenda: Sendable {
    /// Latest first, so that removing the next one is cheap.
    private var steps: [FeedStep] = []

    mutating func add(_ step: FeedStep) {
        var low = 0
        var high = steps.count
        while low < high {
            let middle = (low + high) / 2
            if steps[middle].due > step.due { low = middle + 1 } else { high = middle }
        }
        steps.insert(step, at: low)
    }

    mutating func popFirst() -> FeedStep? { steps.popLast() }
}
