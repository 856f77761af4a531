import Glibc
import LiveClient
import LiveState

// A store that is killed, for tests end to end: opens one and moves its finger and a row of the app together, again and again.
//
//     storekill FILE COMMITS
//     storekill actions FILE act|drain
//
// The first prints the number of each commit once the store has said that it is done; the second is in Actions.swift.

/// A line that a pipe's reader gets at once.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "actions" {
    try await act(CommandLine.arguments[2], isActing: CommandLine.arguments[3] == "act")
    exit(0)
}
guard CommandLine.arguments.count == 3, let commits = Int64(CommandLine.arguments[2]) else { exit(64) }
let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: "https://live.example.com")
let store = try await SQLiteStore.open(path: CommandLine.arguments[1], identity: identity) { transaction in
    try transaction.execute("CREATE TABLE app (id TEXT PRIMARY KEY, number INTEGER NOT NULL)")
}
let first = (try await store.load(area: "incidents")?.lastSuccess ?? 0) + 1
for number in first..<(first + commits) {
    let metadata = UpdateMetadata(finger: "F\(number)", lastSuccess: number)
    try await store.commit(area: "incidents", metadata: metadata) { transaction in
        for id in ["A", "B", "C"] {
            try transaction.execute("INSERT OR REPLACE INTO app VALUES (?, ?)", [.text(id), .integer(number)])
        }
    }
    say("\(number)")
}
await store.close()
say("closed")
