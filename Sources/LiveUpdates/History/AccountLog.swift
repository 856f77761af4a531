/// What a node holds of one account: a log for each partition in which it has had events, and what was let go of them.
final class AccountLog {
    let account: Account
    /// Of the account's name, as cursors have it.
    let check: UInt32
    private let slot32: Int32
    /// How many of the drops that the history counts this log has followed.
    private(set) var drops: UInt32
    private var eventBytes32: UInt32 = 0
    private(set) var parts: [PartitionLog] = []
    /// What was let go of each of the ``parts``, by entity: from when the log is full for the first time until it is empty.
    private var byEntity: [LetGoByEntity] = []
    private var count32: Int32 = 0
    private var subscribers32: Int32 = 0
    /// The highest sequence that was let go, including that of accounts forgotten before this log was created (again).
    private(set) var letGoSequence: UInt64
    /// No event of this account that was let go before this log was created arrived later than this.
    let inheritedNewestLetGo: Int64

    init(account: Account, slot: Int, letGoSequence: UInt64, newestLetGo: Int64, drops: UInt32) {
        self.drops = drops
        self.account = account
        slot32 = Int32(slot)
        self.letGoSequence = letGoSequence
        inheritedNewestLetGo = newestLetGo
        check = Cursor.check(of: account)
    }

    /// Its slot in the orders of accounts.
    var slot: Int { Int(slot32) }

    /// Events held, in all partitions.
    private(set) var count: Int {
        get { Int(count32) }
        set { count32 = Int32(newValue) }
    }

    /// Bytes allocated for events and for what was let go by entity, in all partitions: less than 1 GiB for the million
    /// events that the settings allow at most.
    private(set) var eventBytes: Int {
        get { Int(eventBytes32) }
        set { eventBytes32 = UInt32(newValue) }
    }

    /// Connections and waits that follow the account.
    var subscribers: Int {
        get { Int(subscribers32) }
        set { subscribers32 = Int32(newValue) }
    }

    /// Bytes that its events and the object itself use, including its share of the table.
    var bytes: Int {
        let name = account.text.utf8.count
        let text = name > 15 ? name + PartitionLog.arrayHeaderBytes : 0
        let table =
            parts.capacity == 0
            ? 0 : parts.capacity * MemoryLayout<PartitionLog>.stride + PartitionLog.arrayHeaderBytes
        let entities =
            byEntity.capacity == 0
            ? 0 : byEntity.capacity * MemoryLayout<LetGoByEntity>.stride + PartitionLog.arrayHeaderBytes
        return Self.fixedBytes + text + table + entities + eventBytes
    }

    /// The object (96), its slot and its share of the table (24), links and entry in the queue (28). The rest is the spare
    /// capacity of these tables at their average load (60).
    private static let fixedBytes = 208

    /// When the first event arrived that is held; nil when none is.
    var oldestArrival: Int64? {
        var oldest: Int64?
        for part in parts where part.count > 0 { oldest = min(oldest ?? .max, part.firstArrival) }
        return oldest
    }

    func index(ofSlot slot: Int) -> Int? {
        for index in parts.indices where parts[index].slot == slot { return index }
        return nil
    }

    /// The log of a partition; this call creates it if it does not exist yet.
    func index(ofSlot slot: Int, orBegin part: @autoclosure () -> PartitionLog) -> Int {
        if let index = index(ofSlot: slot) { return index }
        // Most accounts use one partition; capacity for more is reserved when there are more.
        if parts.isEmpty { parts.reserveCapacity(1) }
        parts.append(part())
        if keepsByEntity { byEntity.append(LetGoByEntity(ofAll: lastLetGo(of: parts.count - 1, sequence: 0))) }
        return parts.count - 1
    }

    func append(_ event: RecordedEvent, to index: Int, at mark: PartitionLog.Mark, timestamp: Int64, word: Int) {
        let before = parts[index].allocatedBytes
        parts[index].append(event, at: mark, timestamp: timestamp, word: word)
        eventBytes += parts[index].allocatedBytes - before
        count += 1
    }

    /// A full log lets go the event with the oldest time stamp among the first events of its partitions. So a node that loads
    /// partition by partition keeps the same events as one that read them as they came. Returns when the next event of that
    /// partition arrived, which may have been before the one that was let go; nil where none is left.
    ///
    /// From here on the log keeps by entity what is let go. `entities` are the numbers of entities by word.
    func letOldestGo(now: Int64, entities: [UInt16]) -> Int64? {
        var oldest: Int?
        for index in parts.indices where parts[index].count > 0 {
            guard let other = oldest else {
                oldest = index
                continue
            }
            let (mine, its) = (parts[index].firstStamp, parts[other].firstStamp)
            if mine < its || mine == its && parts[index].partition < parts[other].partition { oldest = index }
        }
        guard let oldest else { preconditionFailure("an empty log has nothing to let go") }
        if !keepsByEntity {
            byEntity = parts.indices.map { LetGoByEntity(ofAll: lastLetGo(of: $0, sequence: letGoSequence)) }
        }
        letFirstGo(of: oldest, now: now, entities: entities)
        return parts[oldest].count > 0 ? parts[oldest].firstArrival : nil
    }

    /// Lets go what arrived before `horizon`, up to `limit` events; returns how many.
    func letGo(arrivedBefore horizon: Int64, limit: Int, now: Int64, entities: [UInt16]) -> Int {
        var gone = 0
        for index in parts.indices {
            let before = gone
            while gone < limit, parts[index].count > 0, parts[index].firstArrival < horizon {
                letFirstGo(of: index, now: now, entities: entities)
                gone += 1
            }
            if gone > before { change(index) { $0.shrink() } }
        }
        if count == 0 { endByEntity() }
        return gone
    }

    /// Lets go each partition's events up to the last one that is stamped or arrived before a moment; returns how many.
    func letGo(before moment: Int64, now: Int64, entities: [UInt16]) -> Int {
        var gone = 0
        for index in parts.indices {
            let before = gone
            for _ in 0..<parts[index].count(upToLastBefore: moment) {
                letFirstGo(of: index, now: now, entities: entities)
                gone += 1
            }
            if gone > before { change(index) { $0.shrink() } }
        }
        if count == 0 { endByEntity() }
        return gone
    }

    func letAllGo(now: Int64) {
        endByEntity()
        for index in parts.indices { while parts[index].count > 0 { letFirstGo(of: index, now: now, entities: []) } }
    }

    private func letFirstGo(of index: Int, now: Int64, entities: [UInt16]) {
        let word = change(index) { $0.letFirstGo(now: now) }
        let base = parts[index].base
        letGoSequence = max(letGoSequence, base.sequence)
        count -= 1
        guard keepsByEntity else { return }
        eventBytes -= byEntity[index].allocatedBytes
        byEntity[index].note(
            LetGoByEntity.Last(offset: base.offset, arrival: min(base.arrival, now), sequence: base.sequence),
            of: entities[word])
        eventBytes += byEntity[index].allocatedBytes
    }

    private func change<Result>(_ index: Int, _ body: (inout PartitionLog) -> Result) -> Result {
        eventBytes -= parts[index].allocatedBytes
        defer { eventBytes += parts[index].allocatedBytes }
        return body(&parts[index])
    }

    // MARK: - What was let go

    /// Whether what was let go is kept by entity; if not, it counts for all of them.
    var keepsByEntity: Bool { !byEntity.isEmpty }

    /// The last event that was let go of a partition, of any entity or of one that may be among those given by their numbers.
    func lastLetGo(of index: Int, entities: [UInt16]?) -> LetGoByEntity.Last {
        guard let entities, keepsByEntity else { return lastLetGo(of: index, sequence: letGoSequence) }
        return byEntity[index].last(of: entities)
    }

    private func lastLetGo(of index: Int, sequence: UInt64) -> LetGoByEntity.Last {
        LetGoByEntity.Last(offset: parts[index].base.offset, arrival: parts[index].newestLetGo, sequence: sequence)
    }

    /// The highest sequence that was let go of what may have been of some entities. The log must keep this by entity.
    func letGoSequence(of entities: [UInt16]) -> UInt64 {
        byEntity.reduce(0) { max($0, $1.last(of: entities).sequence) }
    }

    /// From here on what was let go counts for all entities.
    private func endByEntity() {
        eventBytes -= byEntity.reduce(0) { $0 + $1.allocatedBytes }
        byEntity = []
    }

    /// Drops the partitions whose slots are gone and gives the others their new slots. A stream with a position before `sequence`
    /// has lost it. Returns how many events were dropped.
    func keep(slots: [Int: Int], letGoSequence sequence: UInt64, drops: UInt32) -> Int {
        self.drops = drops
        let before = count
        byEntity = zip(parts, byEntity).compactMap { part, letGo in slots[part.slot] == nil ? nil : letGo }
        for index in byEntity.indices { byEntity[index].lose(before: sequence) }
        parts = parts.compactMap { part in slots[part.slot].map { part.moved(toSlot: $0) } }
        count = parts.reduce(0) { $0 + $1.count }
        eventBytes = parts.reduce(0) { $0 + $1.allocatedBytes } + byEntity.reduce(0) { $0 + $1.allocatedBytes }
        letGoSequence = max(letGoSequence, sequence)
        if count == 0 { endByEntity() }
        return before - count
    }
}

@available(*, unavailable)
extension AccountLog: Sendable {}
