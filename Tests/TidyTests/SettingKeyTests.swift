import Testing

/// A setting has one place.
struct SettingKeyTests {
    /// The keys that are declared in the tables of the settings, those of sections with the section before them.
    static let keys: [String] = SourceTree.swiftFiles.filter { $0.target == "GatewaySettings" && $0.isSource }.flatMap {
        $0.text.matches(of: /Setting\(\s*"([a-z_.]+)"/).map { String($0.1) }
    }

    /// Those that know the settings; the errors of a mapping name its parts as the settings do, and know nothing of them.
    static let targets: Set<String> = ["GatewaySettings", "Gateway", "livegate"]

    @Test func `the key of a setting stands once in the sources`() {
        #expect(Self.keys.count > 40)
        let files = SourceTree.swiftFiles.filter { $0.isSource && Self.targets.contains($0.target) }
        for key in Self.keys where key.contains(".") {
            let count = files.reduce(0) { $0 + $1.text.ranges(of: "\"\(key)\"").count }
            #expect(count == 1, "\(key) stands \(count) times: read it as settings.<section>.<name>")
        }
    }
}
