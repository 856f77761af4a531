import Reactor

/// What those notice who are connected and behave, while others do something.
struct Notice: Sendable {
    /// 50th and 99th percentile and the most, in ms.
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

    /// One event in so many milliseconds.
    static let everyMilliseconds: UInt64 = 10
    /// One ping in so many milliseconds, from one of those who are connected after the other: what its answer waits for
    /// is a turn of its loop, and no broker.
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

    /// Since the last call.
    func notice() async -> Notice {
        let shares = [0.5, 0.99, 1]
        return Notice(events: .init(await percentiles(shares)), turns: .init(await turns(shares)))
    }
}

extension Bench {
    /// A paced stream to those who are connected, for so many seconds. Returns what they noticed.
    func pace(_ seconds: Int, accounts: [String], to readers: LoopBound<Crowd>, _ measurement: inout Measurement) async
        -> Notice
    {
        let count = seconds * 1000 / Int(Notice.everyMilliseconds)
        await broker.writePaced(count, everyMilliseconds: Notice.everyMilliseconds, accounts: accounts)
        return await noticed(count, by: readers, &measurement)
    }

    /// Waits until those who are connected have had so many events more; returns what they noticed since the last call.
    func noticed(_ events: Int, by readers: LoopBound<Crowd>, _ measurement: inout Measurement) async -> Notice {
        measurement.expected += events * measurement.readers
        await readers.await(measurement.expected)
        return await readers.notice()
    }
}
