import LiveUpdates

/// A history under test, and all that it was given: so that a copy of a node can go on apart.
struct SimulatedHistory {
    enum Input {
        case wake
        case found(PartitionName, exists: Bool)
        case identified(topic: UInt16, id: UInt32)
        case facts(PartitionName, LogFacts)
        case reset(topic: UInt16, now: Int64)
        case lose(PartitionName)
        case event(ThinEvent, Account, PartitionName, offset: Int64, timestamp: Int64, now: Int64)
        case skip(PartitionName, offset: Int64, timestamp: Int64, now: Int64)
        case sweep(now: Int64)
        case retain(Account)
        case release(Account)
    }

    private let limits: HistoryLimits
    private let topics: Int
    private var inputs: [Input] = []
    private var history: History?

    init(_ limits: HistoryLimits, topics: Int) {
        self.limits = limits
        self.topics = topics
    }

    mutating func give(_ input: Input) {
        inputs.append(input)
        if let history { Self.give(input, history) }
    }

    /// The same history once more, to be gone on with apart.
    func copy() -> SimulatedHistory {
        var copy = self
        copy.history = nil
        return copy
    }

    mutating func current() -> History {
        if let history { return history }
        let made = History(epoch: Epoch(number: 1), topics: topics, limits: limits)
        for input in inputs { Self.give(input, made) }
        history = made
        return made
    }

    private static func give(_ input: Input, _ history: History) {
        switch input {
        case .wake: history.beginWake()
        case .found(let partition, let exists): history.find(partition, exists: exists)
        case .identified(let topic, let id): history.identify(topic: topic, id)
        case .facts(let partition, let facts): history.apply(partition, facts)
        case .reset(let topic, let now): history.reset(topic: topic, now: now)
        case .lose(let partition): history.lose([partition])
        case .event(let event, let account, let partition, let offset, let timestamp, let now):
            history.append(
                event, account: account, partition: partition, offset: offset, timestamp: timestamp, now: now)
        case .skip(let partition, let offset, let timestamp, let now):
            history.skip(partition, offset: offset, timestamp: timestamp, now: now)
        case .sweep(let now): history.sweep(now: now)
        case .retain(let account): history.retain(account)
        case .release(let account): history.release(account)
        }
    }
}
