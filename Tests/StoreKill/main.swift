import Glibc
import LiveClient
import LiveState

// A store that is killed, for tests end to end: opens one and moves its finger, rows of the app and a list together, again and
// again.
//
//     storekill FILE COMMITS
//     storekill actions FILE act|drain
//     storekill archive FILE
//
// The first prints the number of each commit once the store has said that it is done; the second is in Actions.swift, the third in
// Archiving.swift.

/// A line that a pipe's reader gets at once.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "actions" {
    try await act(CommandLine.arguments[2], isActing: CommandLine.arguments[3] == "act")
    exit(0)
}
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "archive" {
    try await keepArchive(CommandLine.arguments[2])
    exit(0)
}
guard CommandLine.arguments.count == 3, let commits = Int64(CommandLine.arguments[2]) else { exit(64) }
let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: "https://live.example.com")
let store = try await SQLiteStore.open(path: CommandLine.arguments[1], identity: identity) { transaction in
    try transaction.execute("CREATE TABLE app (id TEXT PRIMARY KEY, number INTEGER NOT NULL)")
}
let lists = try await SQLiteListStore<Int64>(
    store, encode: { Array("\($0)".utf8) }, decode: { Int64(String(decoding: $0, as: UTF8.self)) ?? 0 })

/// A list with the number in two items, for one transaction with the rest.
@Sendable func list(_ number: Int64) -> StoredList<Int64> {
    let items = ["A", "B"].map {
        StoredList<Int64>.Item(id: $0, key: ListKey(rank: number, text: $0), value: number, isOld: false)
    }
    let all = ListInterval(lower: .beginning, upper: .end)
    return StoredList(name: "all", entity: "incident", intervals: [all], items: items)
}

let first = (try await store.load(area: "incidents")?.lastSuccess ?? 0) + 1
for number in first..<(first + commits) {
    let metadata = UpdateMetadata(finger: "F\(number)", lastSuccess: number)
    try await store.commit(area: "incidents", metadata: metadata) { transaction in
        for id in ["A", "B", "C"] {
            try transaction.execute("INSERT OR REPLACE INTO app VALUES (?, ?)", [.text(id), .integer(number)])
        }
        // Every second one moves the finger alone, as beside lists that have not changed.
        let kept = number.isMultiple(of: 2) ? nil : [list(number)]
        guard try lists.write(area: "incidents", finger: metadata.finger, lists: kept, in: transaction) else {
            exit(70)
        }
    }
    say("\(number)")
}
await store.close()
say("closed")
