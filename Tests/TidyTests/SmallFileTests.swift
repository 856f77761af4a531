import Testing

/// A file is a room of its own, or it stands with what it serves.
struct SmallFileTests {
    static let minimumFileLines = 40

    /// Files below the limit, each with the reason why it stands alone.
    static let alone: [String: String] = [:]

    /// Targets where this holds.
    static let targets: Set<String> = [
        "HTTP", "TLS", "Options", "Tokens", "YAML", "GatewaySettings", "LiveClient", "livegate", "livecat",
    ]

    @Test func `a small file has a reason to stand alone`() {
        var small: Set<String> = []
        for file in SourceTree.swiftFiles where file.isSource && Self.targets.contains(file.target) {
            guard file.lines.count - 1 < Self.minimumFileLines else { continue }
            small.insert(file.path)
            #expect(
                Self.alone[file.path] != nil, "\(file) has \(file.lines.count - 1) lines: merge it with what it serves")
        }
        #expect(Set(Self.alone.keys).subtracting(small).isEmpty, "listed, and not small or not there")
    }
}
