import Testing

/// Where the compiler has to take our word, and that the word is given.
struct SafetyTests {
    /// Where the keyword `unsafe` may stand: whole targets and folders that end with a slash, else single files.
    static let unsafePlaces = [
        // The edges to C and the kernel.
        "Sources/Reactor/", "Sources/TLS/", "Sources/Transport/", "Sources/Kafka/", "Sources/Logging/",
        "Sources/Fetching/", "Sources/Locks/", "Sources/SQLite/", "Sources/PostgreSQL/",
        "Sources/LiveUpdates/JSON/JSONReader.swift",
        // zlib, and masking, which goes over every byte.
        "Sources/WebSocket/Deflater.swift", "Sources/WebSocket/Inflater.swift", "Sources/WebSocket/PayloadBytes.swift",
        // getopt_long, the words of the command line, the environment, standard input and output, small files.
        "Sources/Options/Command+Run.swift", "Sources/Options/OptionParser.swift", "Sources/Options/Process.swift",
        "Sources/Options/BoundedFile.swift",
        // cjose, PEM.
        "Sources/Tokens/SignatureKey.swift", "Sources/Tokens/PEMKeys.swift",
        // The time of day.
        "Sources/LiveClient/AppClock.swift",
        // The terminal, standard input.
        "Sources/livecat/Appearance.swift", "Sources/livecat/Files.swift", "Sources/Terminal/TerminalMode.swift",
        // Counters of the kernel, and calls that are measured.
        "Sources/livebench/BenchBroker.swift", "Sources/livebench/Calibration.swift",
        "Sources/livebench/GatewayProcess.swift",
        // Constants of the binary.
        "Sources/Gateway/Demo/DemoFiles.swift",
        // libyaml.
        "Sources/YAML/YAMLEvents.swift",
    ]

    /// Every place that takes a Sendable or an isolation on its word.
    static let uncheckedPlaces: Set<String> = [
        "Sources/Fetching/FetchThread.swift",
        "Sources/Kafka/ClientHandle.swift", "Sources/Kafka/ConsumerHandle.swift",
        "Sources/Kafka/ProbeClient+TopicIDs.swift",
        "Sources/LiveClient/ClientLoop.swift",
        "Sources/Locks/Lock.swift",
        "Sources/Reactor/EventLoop.swift", "Sources/Reactor/Mailbox.swift", "Sources/Reactor/Process.swift",
        "Sources/SQLite/DatabaseThread.swift",
        "Sources/TLS/TLSContext.swift", "Sources/Tokens/SignatureKey.swift",
        "Tests/Harness/Swift/Waiting.swift", "Tests/PlantedRace/main.swift", "Tests/ReactorTests/LoopCalls.swift",
        "Tests/LiveClientURLSessionTests/VirtualLoop.swift",
        "Tests/TestTokens/TestKey.swift",
    ]

    @Test func `unsafe code stands only where it must`() {
        var used: Set<String> = []
        for file in SourceTree.swiftFiles where file.isSource {
            guard file.code.contains(where: { $0.mentions("unsafe") && $0.contains(/\bunsafe\b/) }) else { continue }
            let place = Self.unsafePlaces.first { file.path == $0 || ($0.hasSuffix("/") && file.path.hasPrefix($0)) }
            #expect(place != nil, "\(file): unsafe code belongs to the edges; see STYLE")
            if let place { used.insert(place) }
        }
        #expect(Set(Self.unsafePlaces).subtracting(used).isEmpty, "places that are listed and have none")
    }

    @Test func `whatever is taken on its word is listed and argued`() {
        var found: Set<String> = []
        for file in SourceTree.swiftFiles {
            for (index, line) in file.code.enumerated()
            where line.mentions("unchecked", "nonisolated")
                && line.contains(/@unchecked\s+Sendable|nonisolated\(unsafe\)/)
            {
                found.insert(file.path)
                #expect(
                    Self.isArgued(file.lines, above: index), "\(file):\(index + 1) has no paragraph SAFETY: above it")
            }
        }
        #expect(
            found == Self.uncheckedPlaces, "difference: \(found.symmetricDifference(Self.uncheckedPlaces).sorted())")
    }

    /// Whether the comment directly above a line, attributes between, has the word.
    static func isArgued(_ lines: [String], above index: Int) -> Bool {
        var place = index - 1
        while place >= 0 {
            let line = lines[place].drop { $0 == " " }
            guard line.hasPrefix("//") || line.hasPrefix("@") else { return false }
            if line.contains("SAFETY:") { return true }
            place -= 1
        }
        return false
    }

    @Test func `an argument is found above attributes and nowhere else`() {
        let lines = ["// SAFETY: because", "@safe", "final class A {}", "final class B {}"]
        #expect(Self.isArgued(lines, above: 2))
        #expect(!Self.isArgued(lines, above: 3))
    }
}
