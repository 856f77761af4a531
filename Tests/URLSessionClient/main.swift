import Foundation
import LiveClientURLSession

// A client over URLSession, for tests end to end.
//
//     urlsessionclient URL TOKEN WAY[,WAY…]    a line for each update and each state; on its input: background, foreground, refresh

/// A line that a pipe's reader gets at once.
@Sendable func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func words(_ update: LiveUpdate) -> String {
    switch update {
    case .connected: "connected"
    case .resync(let why, _): "resync \(why)"
    case .event(let event): "event \(event.id)"
    case .live: "live"
    case .beat: "beat"
    case .source: "source"
    case .read: "read"
    case .disconnected(let reason, _): "disconnected \(reason)"
    }
}

func obey(_ client: LiveClient) {
    while let line = readLine() {
        switch line {
        case "background": client.enterBackground()
        case "foreground": client.enterForeground()
        case "refresh": client.refresh()
        default: exit(64)
        }
    }
}

let arguments = CommandLine.arguments.dropFirst().map { $0 }
let ways = arguments.count == 3 ? arguments[2].split(separator: ",").map { ConnectionWay(rawValue: String($0)) } : []
guard arguments.count == 3, ways.allSatisfy({ $0 != nil }) else {
    say("urlsessionclient URL TOKEN WAY[,WAY…]")
    exit(64)
}
var configuration = LiveClientConfiguration(url: arguments[0])
configuration.ways = ways.compactMap { $0 }
configuration.beat = .seconds(5)
configuration.pollInterval = .seconds(1)
let client = try LiveClient(configuration) { arguments[1] }
Task.detached { obey(client) }
Task.detached { for await state in client.states { say("state \(state)") } }
do {
    for try await update in client.updates { say(words(update)) }
    say("end")
} catch {
    say("error \(error)")
}
