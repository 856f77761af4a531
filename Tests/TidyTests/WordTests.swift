import Testing

/// Names, leftovers, and what lies in the root.
struct WordTests {
    /// Words that say nothing about what a type is.
    static let emptyWords: Set<String> = [
        "Manager", "Helper", "Helpers", "Util", "Utils", "Utility", "Utilities", "Impl", "Handler", "Data", "Info",
    ]

    /// The words of a name in camel case: `HTTPHandler` is `HTTP` and `Handler`.
    static func words(_ name: String) -> [String] {
        name.matches(of: /[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+/).map { String($0.0) }
    }

    @Test func `no type and no file has an empty word in its name`() {
        for file in SourceTree.swiftFiles {
            let stem = file.path.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? ""
            #expect(Self.emptyWords.isDisjoint(with: Self.words(stem)), "\(file)")
            for (index, line) in file.code.enumerated()
            where line.mentions("struct ", "class ", "enum ", "protocol ", "actor ", "typealias ") {
                guard let match = line.firstMatch(of: /\b(?:struct|class|enum|protocol|actor|typealias)\s+(\w+)/) else {
                    continue
                }
                #expect(
                    Self.emptyWords.isDisjoint(with: Self.words(String(match.1))), "\(file):\(index + 1) \(match.1)")
            }
        }
    }

    /// Words of a dialect, each with what is said here instead.
    static let dialect: [String: String] = [
        "scout": "probe", "glance": "probe", "look": "refresh, check or probe", "sight": "refresh", "hush": "stalled",
        "pulse": "heartbeat", "anew": "recreated or again", "grown": "added", "tell": "report, notify or deliver",
        "told": "reported", "tells": "reports", "hear": "receive", "heard": "received", "judge": "check or decide",
        "judging": "token lookup", "judged": "checked", "desk": "requests or lookup", "farewell": "close notice",
        "reckon": "count or compute", "mend": "repair", "ladder": "fallback", "whoever": "caller",
        "everybody": "all clients", "says": "reports", "said": "named", "stands": "is", "stood": "was",
        "places": "quota", "looks": "checks",
    ]
    /// Targets whose names are free of them.
    static let plainTargets: Set<String> = [
        "HTTP", "TLS", "Options", "Tokens", "YAML", "GatewaySettings", "LiveClient", "livegate", "livecat",
        "WebSocket", "Transport", "Logging", "Reactor", "LiveUpdates", "Gateway", "livebench", "Kafka", "KafkaLogs",
        "Balancer", "Archive", "PostgreSQL", "SQLite", "LiveState", "LiveClientReactor", "LiveClientURLSession",
        "liveboard", "Terminal", "Fetching", "CloseCodes", "Locks",
    ]

    @Test func `no name has a word of the dialect`() {
        for file in SourceTree.swiftFiles where file.isSource && Self.plainTargets.contains(file.target) {
            for (index, line) in file.code.enumerated() {
                let lowercased = line.lowercased()
                guard Self.dialect.keys.contains(where: { lowercased.mentions($0) }) else { continue }
                for match in line.matches(of: /[A-Za-z_]\w*/) {
                    for word in Self.words(String(match.0)) {
                        guard let better = Self.dialect[word.lowercased()] else { continue }
                        Issue.record("\(file):\(index + 1) \(match.0): say \(better)")
                    }
                }
            }
        }
    }

    @Test func `a name is taken apart at its capitals`() {
        #expect(Self.words("HTTPHandler") == ["HTTP", "Handler"])
        #expect(Self.words("InfoLine+More") == ["Info", "Line", "More"])
        #expect(Self.words("Database") == ["Database"])
    }

    @Test func `nothing is left to be done`() {
        let leftovers = [
            "TO" + "DO", "FIX" + "ME", "XX" + "X:", "HA" + "CK:", "not " + "implemented", "un" + "implemented",
        ]
        for file in SourceTree.files {
            for (index, line) in file.lines.enumerated() {
                #expect(!leftovers.contains { line.mentions($0) }, "\(file):\(index + 1)")
            }
        }
    }

    @Test func `no path of one machine stands in the tree`() {
        let places = ["wo" + "rk", "ro" + "ot", "ho" + "me", "Us" + "ers"].map { "/\($0)/" }
        for file in SourceTree.files {
            for (index, line) in file.lines.enumerated() {
                #expect(!places.contains { line.mentions($0) }, "\(file):\(index + 1)")
            }
        }
    }

    @Test func `the root has only what belongs there`() {
        let allowed: Set<String> = ["Package.swift", "Package.resolved", "Sources", "Tests", "deploy", "README.md"]
        #expect(SourceTree.topLevel.isSubset(of: allowed), "\(SourceTree.topLevel.subtracting(allowed).sorted())")
    }
}
