import LiveUpdates

/// What a node's history must hold by the design's own words, in plain lists, and what it may have let go.
struct KeptEvents {
    private struct Event {
        let index: Int
        let account: Int
        let entity: Int
        let offset: Int64
        let stamp: Int64
        let arrival: Int64
        var isAged = false
        /// Whether its account was forgotten since: it held nothing then.
        var isForgotten = false
    }

    private struct Log {
        var next: Int64 = 0
        var liveFrom: Int64 = 0
        var newestStamp: Int64 = -1
        /// By account.
        var held: [[Event]] = [[], [], []]
        var letGo: [Event] = []
    }

    private let limits: HistoryLimits
    private var logs: [Log] = []

    init(_ limits: HistoryLimits) { self.limits = limits }

    var count: Int { logs.reduce(0) { $0 + $1.held.reduce(0) { $0 + $1.count } } }
    func next(_ partition: Int) -> Int64 { partition < logs.count ? logs[partition].next : 0 }

    mutating func open(_ partition: Int, start: Int64, liveFrom: Int64) {
        while logs.count <= partition { logs.append(Log()) }
        logs[partition] = Log(next: start, liveFrom: liveFrom)
    }

    mutating func remove(_ partition: Int) {
        guard partition < logs.count else { return }
        logs[partition] = Log()
        for account in logs[partition].held.indices { noteForgotten(account) }
    }
    mutating func removeAll() { logs = [] }

    // MARK: - Reading

    /// Returns whether it was not read before.
    mutating func read(
        _ record: SimulatedTopic.Record, _ index: Int, _ partition: Int, offset: Int64, isEvent: Bool, now: Int64
    ) -> Bool {
        guard offset >= logs[partition].next else { return false }
        logs[partition].next = offset + 1
        logs[partition].newestStamp = max(logs[partition].newestStamp, min(record.stamp, now))
        guard isEvent else { return true }
        let newest = logs[partition].newestStamp
        let arrival = offset >= logs[partition].liveFrom || newest < 0 ? now : newest
        logs[partition].held[record.account].append(
            Event(
                index: index, account: record.account, entity: record.entity, offset: offset,
                stamp: record.stamp < 0 ? arrival : record.stamp, arrival: arrival))
        if logs.reduce(0, { $0 + $1.held[record.account].count }) > limits.maximumEventsPerAccount {
            letOldestGo(record.account)
        }
        sweep(now: now)
        return true
    }

    /// The oldest stamp among the firsts of its partitions.
    private mutating func letOldestGo(_ account: Int) {
        var oldest: Int?
        for partition in logs.indices {
            guard let first = logs[partition].held[account].first else { continue }
            guard let other = oldest, let before = logs[other].held[account].first else {
                oldest = partition
                continue
            }
            if first.stamp < before.stamp { oldest = partition }
        }
        if let oldest { logs[oldest].letGo.append(logs[oldest].held[account].removeFirst()) }
        noteForgotten(account)
    }

    /// Of an account that holds nothing any more a node does not keep apart what was let go, even if it comes back.
    private mutating func noteForgotten(_ account: Int) {
        guard logs.allSatisfy({ $0.held[account].isEmpty }) else { return }
        for partition in logs.indices {
            for index in logs[partition].letGo.indices where logs[partition].letGo[index].account == account {
                logs[partition].letGo[index].isForgotten = true
            }
        }
    }

    mutating func sweep(now: Int64) {
        let horizon = now - limits.retentionMilliseconds
        for partition in logs.indices {
            for account in logs[partition].held.indices {
                while let first = logs[partition].held[account].first, first.arrival < horizon {
                    var gone = logs[partition].held[account].removeFirst()
                    gone.isAged = true
                    logs[partition].letGo.append(gone)
                    noteForgotten(account)
                }
            }
        }
    }

    func holds(_ index: Int, of account: Int, _ partition: Int) -> Bool {
        partition < logs.count && logs[partition].held[account].contains { $0.index == index }
    }

    // MARK: - What was let go

    /// Whether a position may have lost something: an event of the account, or one of an account that is forgotten, or may be,
    /// for its age: of those a node knows the highest offset of a partition only.
    func hasLetGo(_ account: Int, _ partition: Int, from offset: Int64, isFiltered: Bool) -> Bool {
        guard partition < logs.count else { return false }
        return logs[partition].letGo.contains { isLost($0, account, isFiltered) && $0.offset >= offset }
    }

    private func isLost(_ event: Event, _ account: Int, _ isFiltered: Bool) -> Bool {
        event.account == account && (!isFiltered || event.entity == 0) || event.isAged || event.isForgotten
    }

    /// The same of a partition without a position.
    func hasLetGo(_ account: Int, _ partition: Int, arrivedSince moment: Int64, isFiltered: Bool) -> Bool {
        guard partition < logs.count else { return false }
        return logs[partition].letGo.contains { isLost($0, account, isFiltered) && $0.arrival >= moment }
    }
}
