/// Reads that wait until this node has read as far as a cursor of another one. Each waits for one position after the other, and
/// costs nothing while that is not reached.
///
/// No clock, no I/O: the caller knows when a read has waited for long enough, and removes it.
package struct ReadsBehind<Reader: Hashable, Request> {
    /// In all. Reads beyond that are answered at once: what one wake may release needs some ms.
    package static var maximumReads: Int { 4_096 }

    private struct Waiting {
        let request: Request
        /// What is not reached yet; the last one is awaited.
        var floors: [PartitionFloor]
    }

    private struct Line {
        var least = Int64.max
        /// In the order in which they came; some may have left.
        var readers: [Reader] = []
    }

    private var waiting: [Reader: Waiting] = [:]
    private var awaited: [PartitionName: Line] = [:]
    /// Readers that have left, and may still be in a line.
    private var left = 0
    /// How often a reader's positions were compared, for tests.
    private(set) var comparisons = 0

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }

    /// Keeps a read until all of its positions are reached; each reader has one.
    ///
    /// - Returns: false where too many wait.
    package mutating func add(_ reader: Reader, _ request: Request, until floors: [PartitionFloor]) -> Bool {
        precondition(!floors.isEmpty && waiting[reader] == nil, "a reader waits once, for something")
        guard waiting.count < Self.maximumReads else { return false }
        waiting[reader] = Waiting(request: request, floors: floors)
        expect(reader, floors[floors.count - 1])
        return true
    }

    /// Returns a read, whatever was reached; nil where this reader has none. Constant time on average.
    package mutating func remove(_ reader: Reader) -> Request? {
        guard let found = waiting.removeValue(forKey: reader) else { return nil }
        left += 1
        if left > waiting.count { forgetLeft() }
        return found.request
    }

    /// The reads whose positions are all reached. While no awaited position is, it costs a comparison a partition.
    package mutating func takeReached(_ history: History) -> [(reader: Reader, request: Request)] {
        var reached: [(reader: Reader, request: Request)] = []
        guard !waiting.isEmpty else { return reached }
        for (partition, line) in awaited
        where history.hasRead(PartitionFloor(partition: partition, offset: line.least)) {
            awaited[partition] = nil
            for reader in line.readers {
                guard var rest = waiting[reader], rest.floors.last?.partition == partition else { continue }
                comparisons += 1
                while let floor = rest.floors.last, history.hasRead(floor) { rest.floors.removeLast() }
                if let floor = rest.floors.last {
                    waiting[reader] = rest
                    expect(reader, floor)
                } else {
                    waiting[reader] = nil
                    reached.append((reader, rest.request))
                }
            }
        }
        return reached
    }

    private mutating func expect(_ reader: Reader, _ floor: PartitionFloor) {
        let least = awaited[floor.partition]?.least ?? .max
        awaited[floor.partition, default: Line()].least = min(least, floor.offset)
        awaited[floor.partition, default: Line()].readers.append(reader)
    }

    private mutating func forgetLeft() {
        left = 0
        for (partition, line) in awaited {
            let readers = line.readers.filter { waiting[$0]?.floors.last?.partition == partition }
            awaited[partition]?.readers = readers
            if readers.isEmpty { awaited[partition] = nil }
        }
    }
}
