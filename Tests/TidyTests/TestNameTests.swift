import Testing

/// Every source file's test is found by its name: `Name.swift` and `Name+Topic.swift` in `NameTests.swift`, or else in
/// the test files whose first lines name it, `// Tests: Name.swift, Other.swift` (in Python with `#`).
struct TestNameTests {
    /// Folders and files without a test, each with the reason.
    static let untested: [String: String] = [
        "Sources/livebench/": "it measures: what it prints is compared by whoever runs it"
    ]

    /// The files that a test file says it tests: in the comment that it begins with.
    static func tested(_ lines: [String]) -> [String] {
        let comment = lines.prefix { $0.hasPrefix("//") || $0.hasPrefix("#") }
            .map { $0.drop { "/# ".contains($0) } }.joined(separator: " ")
        guard let mark = comment.range(of: "Tests: ") else { return [] }
        return comment[mark.upperBound...].split(separator: ",").map { $0.filter { $0 != " " } }
    }

    /// The last part of a path without its ending and what stands behind a plus: `History` of `History+Reading.swift`.
    static func stem(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        return String(name.prefix { $0 != "+" && $0 != "." })
    }

    private let sources = SourceTree.swiftFiles.filter(\.isSource)
    private let testFiles = SourceTree.files.filter { file in
        file.path.hasPrefix("Tests/")
            && (file.path.hasSuffix("Tests.swift") || file.path.contains(/\/test_\w+\.py$/))
    }

    @Test func `each source file with a function has a test that its name leads to`() {
        let named = Set(testFiles.flatMap { Self.tested($0.lines) })
        let stems = Set(testFiles.map { Self.stem($0.path) })
        #expect(named.count > 100 && stems.count > 100)
        for file in sources where !SourceText(code: file.code).functions.isEmpty {
            let isNamed = named.contains { file.path.hasSuffix("/" + $0) }
            let isExcused = Self.untested.keys.contains { file.path.hasPrefix($0) }
            #expect(
                isNamed || isExcused || stems.contains(Self.stem(file.path) + "Tests"),
                "\(file): no \(Self.stem(file.path))Tests.swift, and no test file begins with // Tests: and its name")
        }
    }

    @Test func `whatever a test file says it tests is one source file`() {
        for file in testFiles {
            for name in Self.tested(file.lines) {
                let found = sources.filter { $0.path.hasSuffix("/" + name) }
                #expect(found.count == 1, "\(file) tests \(name): \(found)")
            }
        }
        for place in Self.untested.keys {
            #expect(sources.contains { $0.path.hasPrefix(place) }, "\(place) is not there")
        }
    }

    @Test func `names are read from the comment that a file begins with`() {
        let lines = ["// Tests: A.swift,", "//   B+C.swift", "", "// Tests: D.swift"]
        #expect(Self.tested(lines) == ["A.swift", "B+C.swift"])
        #expect(Self.tested(["# Tests: X/A.swift", "\"\"\"Tests: B.swift\"\"\""]) == ["X/A.swift"])
        #expect(Self.tested(["import Testing", "// Tests: A.swift"]) == [])
        #expect(Self.stem("Sources/A/B+C.swift") == "B" && Self.stem("Tests/A/BTests.swift") == "BTests")
    }
}
