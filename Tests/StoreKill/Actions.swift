import Glibc
import LiveClient
import LiveState

// Actions of a process that is killed. The server is whoever started it: each batch is a line on standard output,
//
//     send KEY KIND ID VALUE[; …]
//
// and each line of standard input that comes back says that its actions are done. `kept ID VALUE` is said when an action was
// taken, `closed` at the end.

/// The actions of the process, for the server's function, which is made before them.
private actor Acting {
    var actions: LiveActions?

    func begin(_ actions: LiveActions) { self.actions = actions }

    /// Somebody changes a status while the one before is on its way.
    func change() async throws {
        try await actions?.set("status", "2", to: "resolved")
        say("kept 2 resolved")
    }
}

private func send(_ batch: [DeferredAction]) -> [ActionResult] {
    say("send " + batch.map { "\($0.key) \($0.kind) \($0.id) \($0.value)" }.joined(separator: "; "))
    guard readLine() != nil else { exit(75) }
    return batch.map { ActionResult(key: $0.key, status: 200) }
}

/// Does what a user does, where `isActing`, and ends when the server has everything.
func act(_ path: String, isActing: Bool) async throws {
    let identity = SQLiteStore.Identity(schema: 1, account: "PACC1", server: "https://live.example.com")
    let file = try await SQLiteStore.open(path: path, identity: identity) { transaction in
        try transaction.execute("CREATE TABLE app (id TEXT PRIMARY KEY, status TEXT NOT NULL)")
    }
    let store = try await SQLiteActionStore(file) { _, id, value, transaction in
        guard let value else { return }
        try transaction.execute("INSERT OR REPLACE INTO app VALUES (?, ?)", [.text(id), .text(value)])
    }
    let acting = Acting()
    var settings = ActionQueue.Settings()
    settings.coalescing = 60_000
    let functions = LiveActions.Functions(
        send: { batch in
            if isActing, batch.contains(where: { $0.value == "acknowledged" }) { try await acting.change() }
            return send(batch)
        }, renewToken: {}, report: { say("news \($0)") })
    let actions = try await LiveActions.open(store: store, settings: settings, functions: functions)
    await acting.begin(actions)
    if isActing {
        try await actions.set("read", "1", to: "true", from: "false")
        say("kept 1 true")
        try await actions.set("status", "2", to: "acknowledged", from: "triggered")
        say("kept 2 acknowledged")
    }
    while await !actions.pending.isEmpty {
        await actions.flush()
        try await Task.sleep(for: .milliseconds(1))
    }
    await actions.close()
    await file.close()
    say("closed")
}
