import LiveUpdates

/// A client that keeps its cursor, and remembers what it was given.
struct SimulatedClient {
    enum Stream {
        case away
        case live
        /// Reads the log: after a cursor, or because it has fallen behind.
        case reading(StreamPosition)
    }

    let account: Int
    /// Empty: it has none yet.
    private(set) var cursor: [UInt8] = []
    /// The topic's era that the cursor speaks of; nil where its node read on in a log that was another one by then.
    private(set) var era: Int?
    var node: Int?
    var stream = Stream.away
    var floors: [PartitionFloor] = []
    /// Records from this index on are owed; what came before it has fetched from the API.
    private(set) var owedFrom = 0
    private var given: Set<Int> = []
    /// What a page gave, and the cursor that came with it: a stream from there on gives nothing of it.
    private var page: (records: Set<Int>, cursor: [UInt8]) = ([], [])
    /// The last offset of each partition that this stream gave.
    private var last: [Int: Int64] = [:]

    init(account: Int) { self.account = account }

    /// Begins a stream that continues what it has.
    mutating func begin(at node: Int) {
        self.node = node
        if cursor != page.cursor { page = ([], []) }
        last = [:]
        floors = []
    }

    /// Takes a cursor of a node that is at `era`.
    mutating func keep(_ cursor: [UInt8], _ era: Int?) {
        self.cursor = cursor
        if self.era != era { self.era = nil }
    }

    /// Is told that what it missed cannot be given: it fetches everything there is, and takes the cursor.
    mutating func resync(_ cursor: [UInt8], _ era: Int?, records: Int) {
        self.cursor = cursor
        self.era = era
        owedFrom = records
        given = []
        page = ([], [])
        last = [:]
        floors = []
        stream = .live
    }

    /// Begins with a page, and with the cursor that came with it. What it may lack nobody is owed; what its node does not hold
    /// another one may give once more.
    mutating func begin(with page: Set<Int>, lacking: Set<Int>, old: Set<Int>, _ cursor: [UInt8], _ era: Int?) {
        self.cursor = cursor
        self.era = era
        owedFrom = 0
        self.page = (page.subtracting(old), cursor)
        given = page.union(lacking)
        last = [:]
        floors = []
        stream = .away
        node = nil
    }

    /// Returns what is wrong with what it is given.
    mutating func receive(_ record: SimulatedTopic.Record, _ index: Int) -> String? {
        if record.account != account { return "is given \(index), an event of account \(record.account)" }
        if let before = last[record.partition], before >= record.offset {
            return "is given \(record.partition):\(record.offset) after \(before) in one stream"
        }
        if page.records.contains(index) {
            return "is given \(index) (\(record.partition):\(record.offset)), which its page holds"
        }
        last[record.partition] = record.offset
        given.insert(index)
        return nil
    }

    /// The first event that is owed and was not given. Of what the second mapping leaves out, nothing is.
    func missing(_ topic: SimulatedTopic, isMapped: (SimulatedTopic.Record) -> Bool) -> Int? {
        for index in owedFrom..<max(owedFrom, topic.records.count) {
            let record = topic.records[index]
            guard record.account == account, !record.isRemoved, !record.isExcused, isMapped(record) else { continue }
            if !given.contains(index) { return index }
        }
        return nil
    }

    /// Does not want what its filter leaves out.
    mutating func pass(_ topic: SimulatedTopic) {
        for index in topic.records.indices where topic.records[index].entity != 0 { given.insert(index) }
    }

    /// Whether its cursor says of no topic that it had a record.
    var claimsNothing: Bool {
        Cursor(cursor).map { $0.positions.allSatisfy { $0.partition.topic != 0 } && $0.topicsKnown == nil } ?? true
    }

    /// Of all that there is, nothing is owed.
    mutating func excuse(_ topic: SimulatedTopic) { given.formUnion(topic.records.indices) }

    mutating func excuse(_ logs: [[Int]]) { for log in logs { given.formUnion(log) } }

    mutating func excuse(_ topic: SimulatedTopic, _ partition: Int, from start: Int64, before end: Int64) {
        given.formUnion(topic.logs[partition].prefix(Int(end)).dropFirst(Int(start)))
    }

    func has(_ record: Int) -> Bool { given.contains(record) }

    func isBelowFloor(_ partition: Int, _ offset: Int64) -> Bool {
        floors.contains { Int($0.partition.number) == partition && offset < $0.offset }
    }
}

/// Accounts and events by number, made once.
enum SimulatedNames {
    static let accounts = (0..<3).map { Account("A\($0)") }
    static let filter = EntityFilter(["e0"])
    private static let events = (0..<2).map { entity in
        (0..<400).map { ThinEvent(entity: "e\(entity)", id: "\($0)", type: "t") }
    }

    static func event(_ index: Int, entity: Int) -> ThinEvent {
        index < 400 ? events[entity][index] : ThinEvent(entity: "e\(entity)", id: "\(index)", type: "t")
    }
}

extension Cursor {
    /// What it says of a partition of the topic to which everything happens.
    func position(_ number: Int) -> Position? {
        positions.first { $0.partition == PartitionName(topic: 0, number: Int32(number)) }
    }

    /// The same of the quiet topic's.
    var quietPosition: Position? { positions.first { $0.partition.topic == 1 } }
}
