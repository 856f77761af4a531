import Glibc
import LiveClientReactor
import Synchronization

// Clients of the SDK, for tests end to end.
//
//     sdkclients cost URL API TOKEN CLIENTS SECONDS EVENTS    what clients cost, as Tests/SDKClients/cost tells (Cost.swift)
//     sdkclients URL TOKEN          one client with two readers, a line for what each of them gets; on its input:
//                                   background, foreground, offline, online NETWORK
//     sdkclients URL TOKEN COUNT    so many clients; a line a second: attempts in it, how many are connected, and how many
//                                   attempts there were so far before their time

/// A line that a pipe's reader gets at once. Not by `print`: its flush waits for whoever reads the input.
@Sendable func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = unsafe write(1, bytes, bytes.count)
}

func words(_ update: LiveUpdate) -> String {
    switch update {
    case .connected: "connected"
    case .resync(let why, _): "resync \(why)"
    case .event(let event): "event \(event.id)"
    case .live: "live"
    case .beat: "beat"
    case .source: "source"
    case .read(let mark): "read \(mark.thing?.id ?? "everything") \(mark.upTo)"
    case .disconnected(let reason, _): "disconnected \(reason)"
    }
}

func obey(_ client: LiveClient) {
    while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "background": client.enterBackground()
        case "foreground": client.enterForeground()
        case "offline": client.pathChanged(isSatisfied: false)
        case "online": client.pathChanged(isSatisfied: true, network: words.last)
        default: exit(64)
        }
    }
}

func follow(_ configuration: LiveClientConfiguration, _ token: String) async throws {
    let client = try LiveClient(configuration) { token }
    for reader in 1...2 {
        let updates = client.updates.makeAsyncIterator()
        Task {
            var updates = updates
            do {
                while let update = try await updates.next() { say("\(reader) \(words(update))") }
                say("\(reader) end")
            } catch {
                say("\(reader) error \(error)")
            }
        }
    }
    Task.detached { obey(client) }
    for await state in client.states { say("state \(state)") }
}

/// The time as clients tell it: milliseconds since 1970, and what has passed since.
struct FleetClock: Sendable {
    private let start = ContinuousClock.now
    private let epoch: Int64

    init() {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        epoch = Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    var now: Int64 { epoch + Int64((ContinuousClock.now - start) / .milliseconds(1)) }
}

/// What a fleet has done: attempts by the second of its clock, the others by now.
final class Tally: Sendable {
    private struct Counts {
        var attempts: [Int64: Int] = [:]
        var connected = 0
        var early = 0
    }

    private let counts = Mutex(Counts())

    /// An attempt that was to be made no earlier than `due`. The clock is read under the lock: nothing comes to a second that was
    /// taken.
    func attempt(_ clock: FleetClock, due: Int64) {
        counts.withLock {
            let now = clock.now
            $0.attempts[now / 1_000, default: 0] += 1
            $0.early += now + clockSlack < due ? 1 : 0
        }
    }

    func connected(_ change: Int) { counts.withLock { $0.connected += change } }

    func take(_ second: Int64) -> (attempts: Int, connected: Int, early: Int) {
        counts.withLock { counts in
            (counts.attempts.removeValue(forKey: second) ?? 0, counts.connected, counts.early)
        }
    }
}

/// Clients do not read the clock when we do; what they have rounded is not early.
let clockSlack: Int64 = 100

func watch(_ client: LiveClient, _ tally: Tally, _ clock: FleetClock) async {
    var (isConnected, due) = (false, Int64.min)
    for await state in client.states {
        switch state {
        case .waiting(let until?, _): due = until
        // It is seen after it was begun, so it never looks earlier than it was.
        case .connecting: tally.attempt(clock, due: due)
        default: break
        }
        let wasConnected = isConnected
        isConnected = state == .connected
        tally.connected((isConnected ? 1 : 0) - (wasConnected ? 1 : 0))
    }
}

func sail(_ configuration: LiveClientConfiguration, _ token: String, _ count: Int) async throws {
    let (tally, clock) = (Tally(), FleetClock())
    for _ in 0..<count {
        let client = try LiveClient(configuration) { token }
        Task { await watch(client, tally, clock) }
        Task { for try await _ in client.updates {} }
    }
    // A second is told when it is over: on a busy machine late, and then several at once.
    for second in (clock.now / 1_000)... {
        try await Task.sleep(for: .milliseconds(max((second + 1) * 1_000 - clock.now, 0)))
        let (attempts, connected, early) = tally.take(second)
        say("second \(second) attempts \(attempts) connected \(connected) early \(early)")
    }
}

let arguments = CommandLine.arguments
if arguments.count == 8, arguments[1] == "cost" {
    try await tellCost(Array(arguments[2...]))
    exit(0)
}
guard (3...4).contains(arguments.count) else { exit(64) }
var configuration = LiveClientConfiguration(url: arguments[1])
configuration.pollInterval = .seconds(1)
if arguments.count == 4 {
    guard let count = Int(arguments[3]) else { exit(64) }
    try await sail(configuration, arguments[2], count)
} else {
    configuration.keepsWays = { known in
        say("known " + known.map { "\($0.network) \($0.way.rawValue)" }.joined(separator: ", "))
    }
    try await follow(configuration, arguments[2])
}
