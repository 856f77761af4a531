import Fetching
import Foundation
import Glibc
import LiveClientReactor
import LiveState
import Synchronization

/// What an app pays for the SDK: memory and CPU of clients that only listen, and how long a change takes to be shown.
///
/// `livegate demo` is the server; it shares the machine with the clients: compare figures of one run.
func tellCost(_ words: [String]) async throws {
    guard let clients = Int(words[3]), let seconds = Int(words[4]), let events = Int(words[5]), clients > 0,
        seconds > 0, events > 0
    else { exit(64) }
    let demo = CostDemo(url: words[0], api: words[1], token: words[2], fetcher: try Fetcher())
    try await measureIdle(demo, clients, seconds)
    try await measureLatency(demo, events)
}

/// The incidents of a demo.
private struct CostDemo: Sendable {
    struct Incident: Codable, Sendable { let id: String }
    struct Incidents: Codable, Sendable { let incidents: [Incident] }

    let url: String
    let api: String
    let token: String
    let fetcher: Fetcher

    /// - Parameter headers: beside that of the token.
    func ask(_ path: String, headers: [String] = [], body: String? = nil) async throws -> [UInt8] {
        let request = FetchRequest(
            url: api + path, headers: ["Authorization: Bearer " + token] + headers, body: body.map { Array($0.utf8) },
            maximumBytes: 1 << 22, timeoutMilliseconds: 30_000)
        switch await withCheckedContinuation({ answer in fetcher.fetch(request) { answer.resume(returning: $0) } }) {
        case .success(let bytes): return bytes
        // What was made is told with 201.
        case .failure(.status(201)): return []
        case .failure(.status(let status)): throw RequestError(status: status)
        case .failure(let error): throw error
        }
    }
}

/// Any incidents of the demo, each fetched when it changes. What was shown is told with its latency in milliseconds.
private struct CostArea: LiveArea {
    typealias Store = MemoryStore

    let demo: CostDemo
    let latencies: AsyncStream<Int64>.Continuation
    let clock = FleetClock()

    var name: String { "cost" }

    func snapshot() async throws {}

    func reload(_ thing: Thing, types: [String]) async throws -> LiveReload<Int> {
        .value(try await demo.ask("/" + thing.id).count)
    }

    func show(_ change: LiveChange<Void, Int>) async {}

    func shown(_ times: [LiveTime]) async { for time in times { latencies.yield(clock.now - time.ts) } }
}

/// A client with a machine that is live.
private struct CostClient: Sendable {
    let client: LiveClient
    let machine: LiveMachine<CostArea>
    let latencies: AsyncStream<Int64>

    init(_ demo: CostDemo, entity: String) async throws {
        var configuration = LiveClientConfiguration(url: demo.url)
        configuration.entities = [entity]
        let token = demo.token
        client = try LiveClient(configuration) { token }
        var settings = UpdateMachine.Settings()
        settings.entities = [entity]
        let (stream, continuation) = AsyncStream.makeStream(of: Int64.self)
        latencies = stream
        let area = CostArea(demo: demo, latencies: continuation)
        machine = LiveMachine(area, store: MemoryStore(), client: client, settings: settings)
        await machine.start()
        for await view in await machine.views where view.freshness == .connected { break }
    }

    func close() async {
        await machine.stop()
        await client.close()
    }
}

/// Bytes of the process that are in memory.
private func residentBytes() -> Int {
    let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * sysconf(Int32(_SC_PAGESIZE))
}

/// CPU of the process so far, in milliseconds.
private func processorMilliseconds() -> Double {
    var usage = rusage()
    _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let times: [timeval] = [usage.ru_utime, usage.ru_stime]
    var sum = 0.0
    for time in times { sum += Double(time.tv_sec) * 1_000 + Double(time.tv_usec) / 1_000 }
    return sum
}

private func measureIdle(_ demo: CostDemo, _ count: Int, _ seconds: Int) async throws {
    // What a first client loads is not the cost of each. It leaves: a node takes 100 connections of one subject.
    try await CostClient(demo, entity: "nothing").close()
    var open: [CostClient] = []
    let before = residentBytes()
    for _ in 0..<count { open.append(try await CostClient(demo, entity: "nothing")) }
    let after = residentBytes()
    let begin = processorMilliseconds()
    try await Task.sleep(for: .seconds(seconds))
    let used = processorMilliseconds() - begin
    say("\(count) idle clients, each with a machine")
    say("memory of each   \(rounded(Double(after - before) / Double(count) / 1_024, 1)) KB of the process")
    say("CPU of each      \(rounded(used / Double(count) / Double(seconds), 3)) ms a second, over \(seconds) s")
    for one in open { await one.close() }
}

private func measureLatency(_ demo: CostDemo, _ events: Int) async throws {
    let one = try await CostClient(demo, entity: "incident")
    let found = try JSONDecoder().decode(CostDemo.Incidents.self, from: Data(try await demo.ask("")))
    var next = one.latencies.makeAsyncIterator()
    var latencies: [Int64] = []
    for number in 0... where latencies.count < events {
        let id = found.incidents[number % found.incidents.count].id
        let headers = ["Content-Type: application/json", "Idempotency-Key: cost-\(getpid())-\(number)"]
        _ = try await demo.ask("/\(id)/notes", headers: headers, body: "{\"content\": \"note \(number)\"}")
        if let latency = await next.next() { latencies.append(latency) }
        if latencies.count == events { break }
    }
    await one.close()
    latencies.sort()
    func at(_ share: Double) -> Int64 { latencies[min(events - 1, Int((Double(events) * share).rounded(.up)) - 1)] }
    say("from ts to screen, with a fetch from the API: p50 \(at(0.5)) ms, p99 \(at(0.99)) ms, of \(events) events")
}

private func rounded(_ number: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", number) }
