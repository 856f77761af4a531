@testable import LiveUpdates

/// What a log with nothing but a limit on events keeps of one account: plain lists, to compare with.
struct KeptEvents {
    private let maximum: Int
    private var held: [[(offset: Int64, timestamp: Int64, arrival: Int64)]] = []
    private var letGo: [Int64] = []
    private var newestLetGo: [Int64] = []

    init(maximum: Int) { self.maximum = maximum }

    mutating func take(_ partition: Int, offset: Int64, timestamp: Int64, arrival: Int64, now: Int64) {
        while held.count <= partition {
            held.append([])
            letGo.append(-1)
            newestLetGo.append(.min)
        }
        held[partition].append((offset, timestamp, arrival))
        var count = 0
        for partition in held.indices { count += held[partition].count }
        guard count > maximum else { return }
        var oldest = -1
        for partition in held.indices where !held[partition].isEmpty {
            if oldest < 0 || held[partition][0].timestamp < held[oldest][0].timestamp { oldest = partition }
        }
        let gone = held[oldest].removeFirst()
        letGo[oldest] = gone.offset
        newestLetGo[oldest] = max(newestLetGo[oldest], min(gone.arrival, now))
    }

    /// Whether everything after a cursor is there.
    func serves(_ cursor: Cursor, margin: Int64) -> Bool {
        for partition in held.indices {
            let name = SimulatedNode.name(partition)
            if let position = cursor.positions.first(where: { $0.partition == name }) {
                if position.offset <= letGo[partition] { return false }
            } else if newestLetGo[partition] >= cursor.issue - margin {
                return false
            }
        }
        return true
    }
}
