import Testing

/// Arrows point downward only (DESIGN, "Pieces").
struct ImportTests {
    /// What each target may import. The C library is below all but the protocol cores; Dispatch is the
    /// reactor's, and Foundation is below nothing that runs on a server; apps have both below their transport.
    static let allowed: [String: Set<String>] = [
        "HTTP": [],
        "Balancer": [],
        "CloseCodes": [],
        "WebSocket": ["CZlib", "CloseCodes"],
        "KafkaLogs": [],
        "LiveUpdates": ["CSimdJSON", "KafkaLogs"],
        "Reactor": ["CLinux", "Glibc", "Dispatch", "Synchronization"],
        "TLS": ["COpenSSL", "CLinux", "Glibc", "Synchronization"],
        "Transport": ["Reactor", "TLS"],
        "Kafka": ["CRdKafka", "Glibc", "KafkaLogs", "Synchronization"],
        "Logging": ["CLinux", "Glibc", "Synchronization"],
        "Options": ["CLinux", "Glibc", "Synchronization"],
        "Locks": ["Glibc", "Darwin"],
        "SQLite": ["CSQLite", "Locks", "Glibc", "Darwin"],
        "PostgreSQL": ["CPostgreSQL", "Glibc", "Darwin", "Synchronization"],
        "Archive": ["SQLite", "PostgreSQL", "LiveUpdates", "KafkaLogs", "Glibc", "Synchronization"],
        "Fetching": ["CCurl", "Glibc", "Synchronization"],
        "Tokens": ["HTTP", "LiveUpdates", "TLS", "CJOSE", "Synchronization"],
        "YAML": ["CYAML"],
        "GatewaySettings": [
            "Balancer", "HTTP", "LiveUpdates", "Reactor", "TLS", "Kafka", "Logging", "Options", "Tokens", "YAML",
            "Fetching",
            "Glibc", "Synchronization",
        ],
        "Gateway": [
            "Balancer", "HTTP", "WebSocket", "LiveUpdates", "Reactor", "TLS", "Transport", "Kafka", "KafkaLogs",
            "Logging", "Options", "Tokens", "GatewaySettings", "Fetching", "Archive", "PostgreSQL", "CLinux",
            "DemoPage",
            "Glibc", "Synchronization",
        ],
        "LiveState": [],
        "LiveClient": [
            "LiveState", "SQLite", "CloseCodes", "HTTP", "Locks", "Darwin", "Glibc",
        ],
        "LiveCollections": ["LiveClient", "Locks", "Foundation", "Observation"],
        "LiveClientURLSession": [
            "LiveClient", "LiveState", "CloseCodes", "HTTP", "Locks", "Dispatch", "Foundation", "FoundationNetworking",
        ],
        "LiveClientReactor": [
            "LiveClient", "LiveState", "HTTP", "WebSocket", "Reactor", "TLS", "Transport", "Synchronization",
        ],
        "livegate": [
            "Gateway", "GatewaySettings", "Tokens", "LiveUpdates", "Kafka", "Logging", "Options", "CLinux", "Glibc",
        ],
        "Terminal": ["CLinux", "CTerminal", "Glibc"],
        "liveboard": [
            "LiveClient", "LiveClientReactor", "LiveState", "Fetching", "Reactor", "Options", "Terminal", "Glibc",
            "Foundation",
            "Synchronization",
        ],
        "livecat": [
            "Terminal", "LiveClientReactor", "LiveState", "LiveUpdates", "HTTP", "WebSocket", "Reactor", "TLS",
            "Transport",
            "Options", "CLinux", "Glibc",
            "Synchronization",
        ],
        "livebench": [
            "Archive", "LiveUpdates", "HTTP", "WebSocket", "Reactor", "TLS", "Transport", "Kafka", "Options", "CLinux",
            "Glibc", "Foundation",
            "Synchronization",
        ],
    ]

    static func imports(_ file: SourceTree.File) -> [String] {
        file.code.filter { $0.mentions("import ") }.compactMap { line in
            line.firstMatch(of: /^\s*(?:@\w+\s+|public\s+|package\s+|internal\s+)*import\s+(?:\w+\s+)?(\w+)/).map {
                String($0.1)
            }
        }
    }

    @Test func `each target imports only what is below it`() {
        for file in SourceTree.swiftFiles where file.isSource {
            guard let below = Self.allowed[file.target] else {
                Issue.record("\(file): no rule for the target \(file.target)")
                continue
            }
            for name in Self.imports(file) { #expect(below.contains(name), "\(file) imports \(name)") }
        }
    }

    /// What is decided for a subscriber is decided without sockets, so that rows of a table can test it.
    @Test func `streams know no loop, no transport and no descriptor`() {
        let streams = SourceTree.swiftFiles.filter { $0.path.hasPrefix("Sources/Gateway/Streams/") }
        let below: Set<String> = ["Reactor", "Transport", "TLS"]
        let machine = SourceTree.swiftFiles.filter { $0.isSource && below.contains($0.target) }
        let types = machine.reduce(into: Set<String>()) { $0.formUnion(SourceText(code: $1.code).outerTypes) }
        #expect(streams.count >= 10 && types.isSuperset(of: ["EventLoop", "Transport", "FileDescriptor"]))
        for file in streams {
            let others = Set(Self.imports(file)).subtracting(["HTTP", "LiveUpdates", "WebSocket"])
            #expect(others.isEmpty, "\(file) imports \(others.sorted())")
            let source = SourceText(code: file.code)
            let used = source.names.subtracting(source.declaredTypes).intersection(types)
            #expect(used.isEmpty, "\(file) uses \(used.sorted())")
        }
    }

    @Test func `no package from outside and no SwiftNIO`() {
        let manifest = SourceTree.swiftFiles.first { $0.path == "Package.swift" }
        #expect(manifest?.code.contains { $0.contains(".package(") } == false)
        for file in SourceTree.swiftFiles {
            #expect(!Self.imports(file).contains { $0.hasPrefix("NIO") || $0.hasPrefix("_NIO") }, "\(file)")
        }
    }

    @Test func `no end-to-end test imports from another`() {
        let tests = SourceTree.files.filter { $0.path.hasPrefix("Tests/EndToEnd/") && $0.path.hasSuffix(".py") }
        #expect(tests.count > 80)
        for file in tests {
            let others = file.lines.filter { $0.contains(#/^\s*(from|import) test_/#) }
            #expect(others.isEmpty, "\(file): what two tests need stands in Tests/Harness/Python, not in \(others)")
        }
    }

    @Test func `only the client library is public`() {
        let sdk: Set<String> = [
            "LiveClient", "LiveCollections", "LiveClientURLSession", "LiveClientReactor", "LiveState",
        ]
        for file in SourceTree.swiftFiles where file.isSource && !sdk.contains(file.target) {
            for (index, line) in file.code.enumerated() where line.mentions("public ", "open ") {
                #expect(!line.contains(/^\s*(public|open)\s/), "\(file):\(index + 1)")
            }
        }
    }
}
