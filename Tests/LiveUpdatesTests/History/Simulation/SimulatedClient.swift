@testable import LiveUpdates

/// A client that keeps its cursor, and remembers what it was given.
struct SimulatedClient {
    enum Stream {
        case away
        case live
        /// Reads the log: after a cursor, or because it has fallen behind.
        case reading(StreamPosition)
    }

    let account: Int
    var cursor: [UInt8] = []
    var node: Int?
    var stream = Stream.away
    var floors: [PartitionFloor] = []
    /// Events from here on are owed; those before it has fetched from the API.
    private(set) var owedFrom = 0
    private var given: Set<Int> = []
    /// The last offset of each partition that this stream gave.
    private var last: [PartitionName: Int64] = [:]

    init(account: Int) { self.account = account }

    /// Begins a stream that continues what it has.
    mutating func begin() { last = [:] }

    /// Is told that what it missed cannot be given: it fetches everything there is, and takes the cursor.
    mutating func resync(cursor: [UInt8], events: Int) {
        self.cursor = cursor
        owedFrom = events
        given = []
        last = [:]
        floors = []
        stream = .live
    }

    /// Returns what is wrong with it.
    mutating func take(event: Int, partition: PartitionName, offset: Int64) -> String? {
        if let before = last[partition], before >= offset {
            return "\(partition) gives \(offset) after \(before) in one stream"
        }
        last[partition] = offset
        given.insert(event)
        return nil
    }

    func isBelowFloor(_ partition: PartitionName, _ offset: Int64) -> Bool {
        for floor in floors where floor.partition == partition && offset < floor.offset { return true }
        return false
    }

    /// The first event that is owed and was not given.
    func missing(_ topic: SimulatedTopic) -> Int? {
        var event = owedFrom
        while event < topic.accountOfEvent.count {
            if topic.accountOfEvent[event] == account && !given.contains(event) { return event }
            event += 1
        }
        return nil
    }
}
