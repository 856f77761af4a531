import Foundation
import Glibc
import LiveClient

// One device that shows what Archive.md tells of, for tests end to end.
//
//     pastdevices URL PERSON TOKEN FILE    begins with a line "open"; then a line of JSON says what is shown, for each line:
//                                           shown, show COUNT, read ID, offline, online, close

/// A line that a pipe's reader gets at once. Not by `print`: its flush waits for whoever reads the input.
@Sendable func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = unsafe write(1, bytes, bytes.count)
}

struct Shown: Encodable {
    struct Line: Encodable {
        let id: String
        let unread: Int
    }
    let aids: [String]
    let isComplete: Bool
    let isOld: Bool
    let gaps: Int
    let things: [Line]
    let badge: Int?
    let pending: Int
}

@MainActor func shown(_ screen: PastScreen, _ inbox: Inbox) async throws -> String {
    let pending = await inbox.actions.pending.count
    let shown = Shown(
        aids: screen.events.compactMap { $0.aid?.text }, isComplete: screen.isComplete, isOld: screen.isOld,
        gaps: screen.gaps.count, things: screen.things.map { Shown.Line(id: $0.last.id, unread: $0.unread) },
        badge: screen.badge, pending: pending)
    return String(decoding: try JSONEncoder().encode(shown), as: UTF8.self)
}

@MainActor func run(_ words: [String]) async throws {
    let (screen, past, inbox) = try await showPast(of: words[1], in: "PACC1", url: words[0], path: words[3]) {
        words[2]
    }
    say("open")
    let (lines, input) = AsyncStream.makeStream(of: [String].self)
    Thread.detachNewThread {
        while let line = readLine() { input.yield(line.split(separator: " ").map(String.init)) }
        input.finish()
    }
    for await line in lines {
        switch line.first {
        case "show": await past.show(Int(line[1]) ?? 0)
        case "read":
            for thing in screen.things where thing.last.id == line[1] { try await inbox.read(thing) }
        case "offline", "online":
            past.client.pathChanged(isSatisfied: line[0] == "online")
            await inbox.actions.networkChanged(isReachable: line[0] == "online")
        case "close":
            await past.close(inbox)
            say("closed")
            continue
        default: break
        }
        say(try await shown(screen, inbox))
    }
}

let words = Array(CommandLine.arguments.dropFirst())
guard words.count == 4 else {
    say("pastdevices URL PERSON TOKEN FILE")
    exit(64)
}
try await run(words)
