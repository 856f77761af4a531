import Reactor

/// What the connected, well-behaved clients notice while others do something.
struct Notice: Sendable {
    /// The 50th and 99th percentile and the maximum, in ms.
    struct Waits: Sendable {
        var median = 0.0
        var p99 = 0.0
        var most = 0.0

        init() {}

        init(_ percentiles: [Double]) {
            guard percentiles.count == 3 else { return }
            (median, p99, most) = (percentiles[0], percentiles[1], percentiles[2])
        }
    }

    /// One event each time this many milliseconds pass.
    static let everyMilliseconds: UInt64 = 10
    /// One ping each time this many milliseconds pass, from the connected clients in turn. Its answer waits for a turn of its
    /// loop, and for no broker.
    static let pingEveryMilliseconds: UInt64 = 2

    /// From produce to receive.
    var events = Waits()
    /// From ping to pong.
    var turns = Waits()
}

extension LoopBound<Crowd> {
    func keepPinging() async {
        loop.execute { value.keepPinging(everyMilliseconds: Notice.pingEveryMilliseconds) }
    }

    /// The results since the last call.
    func notice() async -> Notice {
        let shares = [0.5, 0.99, 1]
        return Notice(events: .init(await percentiles(shares)), turns: .init(await turns(shares)))
    }
}

extension Bench {
    /// A paced stream to the connected clients, for this many seconds. Returns what they noticed.
    func pace(_ seconds: Int, accounts: [String], to readers: LoopBound<Crowd>, _ measurement: inout Measurement) async
        -> Notice
    {
        let count = seconds * 1000 / Int(Notice.everyMilliseconds)
        await broker.writePaced(count, everyMilliseconds: Notice.everyMilliseconds, accounts: accounts)
        return await noticed(count, by: readers, &measurement)
    }

    /// Waits until the connected clients have received this many more events. Returns what they noticed since the last call.
    func noticed(_ events: Int, by readers: LoopBound<Crowd>, _ measurement: inout Measurement) async -> Notice {
        measurement.expected += events * measurement.readers
        await readers.await(measurement.expected)
        return await readers.notice()
    }
}
