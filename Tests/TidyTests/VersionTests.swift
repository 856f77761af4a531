import Testing

/// The version has one place, and the changelog goes with it.
struct VersionTests {
    /// The numbers of a semantic version, as far as we use them, and whether it is what comes before that release.
    static func parts(of version: String) -> (numbers: [Int], isReleased: Bool)? {
        guard let match = version.wholeMatch(of: /(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-dev)?/) else { return nil }
        return ([match.1, match.2, match.3].compactMap { Int($0) }, match.4 == nil)
    }

    /// What is wrong with a version and the headings of the changelog, the newest first.
    static func problems(of version: String, with headings: [String]) -> [String] {
        guard let (numbers, isReleased) = parts(of: version) else {
            return ["\(version) is not MAJOR.MINOR.PATCH or that with -dev"]
        }
        var problems: [String] = []
        var later = numbers
        let newest = isReleased ? version : "Not released"
        if headings.first != newest { problems.append("the changelog of \(version) begins with \(newest)") }
        for heading in headings.dropFirst() {
            guard let (numbers, isReleased) = parts(of: heading), isReleased else {
                problems.append("\(heading) is no released version")
                continue
            }
            if !numbers.lexicographicallyPrecedes(later) {
                problems.append("\(heading) is not before what is above it")
            }
            later = numbers
        }
        return problems
    }

    private static func text(_ path: String) -> String {
        SourceTree.files.first { $0.path == path }?.text ?? ""
    }

    private static func version() throws -> String {
        let source = text("Sources/Options/Release.swift")
        return String(try #require(source.firstMatch(of: /static let version = "([^"]*)"/)?.1))
    }

    @Test func `the version is semantic, and the changelog begins with it`() throws {
        let changelog = Self.text("Sources/Gateway/Gateway.docc/Changelog.md")
        let headings = changelog.split(separator: "\n").filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
        #expect(Self.problems(of: try Self.version(), with: headings) == [])
    }

    @Test func `no other file has the version, but what npm and orchestrators read`() throws {
        let version = try Self.version()
        let having = SourceTree.files.filter { !$0.path.hasPrefix("Tests/") && $0.text.contains(version) }.map(\.path)
        let others: Set = [
            "Sources/LiveClientJS/package.json", "deploy/compose.yaml", "deploy/kubernetes/livegate.yaml",
        ]
        #expect(Set(having) == others.union(["Sources/Options/Release.swift"]))
    }

    @Test(arguments: [
        ("0.2.0-dev", ["Not released"], 0), ("0.2.0-dev", ["Not released", "0.1.1", "0.1.0"], 0),
        ("0.2.0", ["0.2.0", "0.1.9"], 0), ("0.10.0", ["0.10.0", "0.9.0"], 0), ("0.2.0", ["Not released"], 1),
        ("0.2.0-dev", ["0.2.0"], 1), ("0.2.0-dev", ["Not released", "0.2.0"], 1),
        ("0.2.0-dev", ["Not released", "Not released"], 1), ("0.3.0", ["0.3.0", "0.1.0", "0.2.0"], 1),
        ("0.2", ["0.2"], 1), ("00.2.0", ["00.2.0"], 1), ("0.2.0-rc1", ["0.2.0-rc1"], 1), ("0.2.0", [], 1),
    ])
    func `versions go down in the changelog, which begins with what is not released while there is such`(
        version: String, headings: [String], problems: Int
    ) {
        #expect(Self.problems(of: version, with: headings).count == problems)
    }
}
