import Glibc
import LiveClient
import Synchronization

// Clients of the SDK, for tests end to end.
//
//     sdkclients URL TOKEN          one client with two readers, a line for what each of them gets; on its input:
//                                   background, foreground, offline, online NETWORK
//     sdkclients URL TOKEN COUNT    so many clients; a line a second: attempts in it, and how many are connected

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

/// What a fleet has done since it was asked last.
final class Tally: Sendable {
    private let counts = Mutex((attempts: 0, connected: 0))

    func attempt() { counts.withLock { $0.attempts += 1 } }
    func connected(_ change: Int) { counts.withLock { $0.connected += change } }

    func take() -> (attempts: Int, connected: Int) {
        counts.withLock { counts in
            defer { counts.attempts = 0 }
            return counts
        }
    }
}

func sail(_ configuration: LiveClientConfiguration, _ token: String, _ count: Int) async throws {
    let tally = Tally()
    for _ in 0..<count {
        let client = try LiveClient(configuration) { token }
        Task {
            var isConnected = false
            for await state in client.states {
                if case .connecting = state { tally.attempt() }
                let wasConnected = isConnected
                isConnected = state == .connected
                tally.connected((isConnected ? 1 : 0) - (wasConnected ? 1 : 0))
            }
        }
        Task { for try await _ in client.updates {} }
    }
    for second in 1... {
        try await Task.sleep(for: .seconds(1))
        let (attempts, connected) = tally.take()
        say("second \(second) attempts \(attempts) connected \(connected)")
    }
}

let arguments = CommandLine.arguments
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
