import Testing

/// A test waits for a condition with a deadline, never for time to pass.
struct SleepTests {
    /// The files below `Tests` that sleep all the same, each with its reason.
    static let sleeping: [String: String] = [
        // Where the harness asks again and again whether a condition holds.
        "Tests/Harness/Swift/Waiting.swift": "the pause between two looks, and a deadline that only ends what failed",
        "Tests/Harness/Python/programs.py": "the pause between two looks",
        "Tests/Harness/Python/rawclient.py": "the pause between two looks, which leaves the turn to the clients",
        "Tests/Harness/Python/one_thread.py": "the kernel's tracing has no event that a deadline could end",
        "Tests/Harness/Python/processes.py": "the pause between two looks at what a process does",
        "Tests/Harness/Python/board.py": "the next key follows what the last one did, which may be nothing",
        "Tests/EndToEnd/test_indexeddb_actions.py": "the pause between two looks of a page",
        "Tests/StoreKill/Actions.swift": "the pause between two looks of a program that has no harness",
        "Tests/Conformance/run": "the pause between two looks at a log",
        "Tests/Runner/processes.py": "the pause between two looks at what a part has started",
        "Tests/Runner/meter.py": "what is late in waking shows that the machine stood still",
        // What takes its time is what the product is shown.
        "Tests/EndToEnd/test_sync_slow.py": "the client reads slowly",
        "Tests/EndToEnd/test_slow_with_cursors.py": "what is written apart is no burst",
        "Tests/EndToEnd/test_stuck_loop.py": "the node is asked for a while, in which it must not say something wrong",
        "Tests/EndToEnd/test_churn.py": "clients come and events are written at a rate",
        "Tests/EndToEnd/test_fanout.py": "events are written at a rate",
        "Tests/Harness/Python/kafka_writer.py": "events are written at a rate",
        "Tests/ArchiveTests/PostgreSQLArchiveTests.swift": "sessions are cut at a rate that lets some work be done",
        "Tests/Harness/Python/archives.py": "a client waits as long as Retry-After says",
        "Tests/EndToEnd/bad_inputs/stage.py": "a client waits as the contract asks it to",
        "Tests/PastDevices/Past.swift": "a device polls at its pace",
        // Measurements, which last as long as they are told to.
        "Tests/SDKClients/Cost.swift": "it measures for some seconds",
        "Tests/SDKClients/main.swift": "it reports once a second",
        "Tests/JavaScript/cost.js": "it measures for some seconds",
        // Chaos and storms: people, troubles and crowds that go by a clock.
        "Tests/Chaos/api.py": "people change something at random",
        "Tests/Chaos/apps.py": "the pause between two looks at the apps' reports",
        "Tests/Chaos/client.py": "a client backs off",
        "Tests/Chaos/crowd.py": "the pause between two looks at the clients",
        "Tests/Chaos/population.py": "it looks for silent connections now and then",
        "Tests/Chaos/troubles.py": "a trouble lasts as long as was drawn",
        "Tests/Chaos/page/app.js": "a person acts now and then",
        "Tests/ChaosApps/App.swift": "a person acts now and then",
        "Tests/Storms/churn.py": "clients come at a rate",
        "Tests/Storms/phones.py": "a tick shows how long this process had no turn, and the pause between two looks",
        "Tests/Storms/rolling.py": "it asks a node at a rate",
    ]

    /// The lines of a file, counted from one, that wait for time to pass.
    static func sleeps(_ file: SourceTree.File) -> [Int] {
        guard file.text.mentions("sleep", "asyncAfter", "setTimeout", "timers/promises") else { return [] }
        let lines = file.path.hasSuffix(".swift") ? file.code : file.lines
        let language = language(file)
        return lines.indices.filter { sleeps(lines[$0], in: language) }.map { $0 + 1 }
    }

    /// How its name ends, or that it is a shell's.
    private static func language(_ file: SourceTree.File) -> String {
        if let first = file.lines.first, first.contains(#/^#!.*\W(?:ba|da)?sh(?:\s|$)/#) { return "sh" }
        return String(file.path.split(separator: ".").last ?? "")
    }

    /// Words are told by the characters beside them: a boundary of Unicode's, which `\b` is, does not part `Task.sleep`.
    private static func sleeps(_ line: String, in language: String) -> Bool {
        switch language {
        case "swift", "c", "h": line.contains(#/(?:^|\W)(?:\w*nano|u)?sleep\s*\(|\.asyncAfter\s*\(/#)
        case "py": line.contains(#/^(?:[^#]*[^#\w])?sleep\s*\(/#) || isPause(line)
        case "sh": line.contains(#/^(?:[^#]*[^#\w])?sleep\s+["$\d]/#)
        case "js", "mjs", "html", "ts": isPause(line)
        default: false
        }
    }

    /// Whether a line of JavaScript waits for a timer; one that does something later is none of this.
    private static func isPause(_ line: String) -> Bool {
        line.contains(#/Promise\(\s*\(?\s*\w+\s*\)?\s*=>\s*\{?\s*setTimeout\(|["']timers\/promises["']/#)
            || line.contains(#/Promise\(function\s*\w*\s*\(\w+\)\s*\{\s*setTimeout\(/#)
    }

    @Test func `nothing below Tests sleeps, but for what is listed with its reason`() {
        var found: Set<String> = []
        for file in SourceTree.files where file.path.hasPrefix("Tests/") {
            let lines = Self.sleeps(file)
            guard !lines.isEmpty else { continue }
            found.insert(file.path)
            #expect(Self.sleeping[file.path] != nil, "\(file):\(lines): wait for a condition (eventually, until)")
        }
        #expect(found.count > 10)
        let idle = Set(Self.sleeping.keys).subtracting(found)
        #expect(idle.isEmpty, "listed, and they do not sleep: \(idle.sorted())")
    }

    @Test(arguments: [
        ("A.swift", "try await Task.sleep(for: .seconds(1))", true), ("A.swift", "usleep(1_000)", true),
        ("A.swift", "sleep(1)", true), ("A.swift", "Thread.sleep(forTimeInterval: 1)", true),
        ("A.swift", "nanosleep(&time, nil)", true), ("A.swift", "clock_nanosleep(0, 0, &time, nil)", true),
        ("A.swift", "queue.asyncAfter(deadline: .now() + 1) { done() }", true),
        // Functions of a test's own, comments and strings do not sleep.
        ("A.swift", "archive.sleep = { waits.append($0) }", false), ("A.swift", "f(sleep: { _ in })", false),
        ("A.swift", "// sleep(1)", false), ("A.swift", "let text = \"sleep(1)\"", false),
        ("a.c", "usleep(1000);", true), ("a.c", "asleep(1);", false),
        ("a.py", "    time.sleep(0.1)", true), ("a.py", "    await asyncio.sleep(1)", true),
        ("a.py", "    sleep(1)", true), ("a.py", "# time.sleep(1)", false), ("a.py", "if sleeps(pid):", false),
        ("a.py", "    await new Promise(resolve => setTimeout(resolve, 1))", true),
        ("a.js", "await new Promise(resolve => setTimeout(resolve, 5))", true),
        ("a.js", "new Promise((done) => { setTimeout(done, 5) })", true),
        ("a.js", "new Promise(function (done) { setTimeout(done, 5) })", true),
        ("a.js", "import { setTimeout } from \"timers/promises\"", true),
        ("a.js", "const late = setTimeout(() => asking.abort(), deadline)", false),
        ("a.js", "mock.timers.enable({ apis: [\"setTimeout\"] })", false),
        ("run", "#!/bin/bash\nsleep 0.1", true), ("run", "#!/bin/sh\nkill $pid && sleep $((a * 2))", true),
        ("a.sh", "while ! f; do sleep \"$pause\"; done", true), ("run", "#!/bin/bash\n# sleep 1", false),
        ("run", "#!/usr/bin/env python3\nprint('sleep 1')", false),
        ("a.md", "sleep(1)", false), ("a.json", "sleep 1", false),
    ])
    func `a sleep is found in each language, and nothing else is`(name: String, text: String, isOne: Bool) {
        #expect(Self.sleeps(SourceTree.File(path: "Tests/\(name)", text: text)).isEmpty != isOne)
    }
}
