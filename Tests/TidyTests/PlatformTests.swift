import Testing

/// The client library is built for Apple's platforms, of which none is at hand: what each file of it has there is read from the
/// source, `#if` by `#if`.
struct PlatformTests {
    /// Of the product `LiveClient`.
    static let core: Set<String> = ["LiveClient", "LiveState", "HTTP", "CloseCodes", "SQLite", "Locks"]
    /// Of the products `LiveClientURLSession` and `LiveCollections`.
    static let targets = core.union(["LiveClientURLSession", "LiveCollections"])
    /// The C targets among them, and what they include.
    static let headers: [String: Set<String>] = ["CSQLite": ["sqlite3.h"]]

    enum Platform: CaseIterable {
        case apple, linux

        /// Modules that are there, of those that are not there everywhere.
        var modules: Set<String> {
            switch self {
            case .apple: ["Darwin", "Dispatch", "Foundation", "Observation"]
            case .linux: ["Glibc", "Dispatch", "Foundation", "FoundationNetworking", "Observation"]
            }
        }
    }

    /// What is imported on a platform. Conditions are `canImport(A)`, names of flags, which are not set, and these joined by `||`.
    static func imports(_ lines: [some StringProtocol], on platform: Platform) -> [String] {
        var imported: [String] = []
        /// Of each `#if` around the line: whether this branch counts, and whether one before it did.
        var branches: [(isOn: Bool, wasOn: Bool)] = []
        for line in lines.map({ String($0.drop { $0 == " " }) }) {
            if line.hasPrefix("#if ") {
                let isOn = holds(line.dropFirst(4), on: platform)
                branches.append((isOn, isOn))
            } else if line.hasPrefix("#elseif "), let last = branches.popLast() {
                branches.append((!last.wasOn && holds(line.dropFirst(8), on: platform), true))
            } else if line.hasPrefix("#else"), let last = branches.popLast() {
                branches.append((!last.wasOn, true))
            } else if line.hasPrefix("#endif") {
                branches.removeLast()
            } else if branches.allSatisfy(\.isOn), let match = line.firstMatch(of: /^(?:@?\w+ )*import (\w+)/) {
                imported.append(String(match.1))
            }
        }
        return imported
    }

    private static func holds(_ condition: some StringProtocol, on platform: Platform) -> Bool {
        String(condition).split(separator: "||").contains { term in
            guard let match = term.firstMatch(of: /canImport\((\w+)\)/) else { return false }
            return platform.modules.contains(String(match.1))
        }
    }

    @Test(arguments: Platform.allCases) func `the client library imports what its platform has`(_ platform: Platform) {
        let files = SourceTree.swiftFiles.filter { $0.isSource && Self.targets.contains($0.target) }
        #expect(files.count > 100)
        let own = Self.targets.union(Self.headers.keys)
        for file in files {
            for name in Self.imports(file.code, on: platform) {
                #expect(own.union(platform.modules).contains(name), "\(file) imports \(name) on \(platform)")
                #expect(
                    !Self.core.contains(file.target) || name != "Dispatch" && !name.hasPrefix("Foundation"), "\(file)")
            }
        }
    }

    /// What of the standard library came later than the platforms of the manifest, as far as it has been used here: with iOS 18 and
    /// macOS 15, or with 26. No compiler has looked for more.
    @Test func `it uses nothing of what is known to have come later than its platforms`() {
        let later = ["Mutex", "Atomic", "utf8Span", "InlineArray", "validating"]
        for file in SourceTree.swiftFiles where file.isSource && Self.targets.contains(file.target) {
            for (index, line) in file.code.enumerated()
            where line.mentions("epoll") || later.contains(where: line.contains) {
                #expect(
                    !line.contains(/\b(Mutex|Atomic|InlineArray)\s*[<(]|\.utf8Span\b|String\(validating:|\bepoll_/),
                    "\(file):\(index + 1)")
            }
        }
    }

    @Test func `its C targets include what each platform has`() {
        for (target, allowed) in Self.headers {
            let files = SourceTree.files.filter { $0.path.hasPrefix("Sources/\(target)/") }
            #expect(files.count >= 2)
            for line in files.flatMap(\.lines) {
                guard let match = line.firstMatch(of: /^#include <([^>]+)>/) else { continue }
                #expect(allowed.contains(String(match.1)), "\(target) includes \(match.1)")
            }
        }
    }

    @Test(
        arguments: [
            (
                ["import A", "#if canImport(Darwin)", "import B", "#else", "import C", "#endif", "import D"], "ABD",
                "ACD"
            ),
            (
                [
                    "#if canImport(Glibc)", "@preconcurrency import A", "#elseif canImport(Darwin)", "import B",
                    "#endif",
                ], "B", "A"
            ),
            (
                [
                    "#if canImport(Darwin) || FLAG", "#if canImport(FoundationNetworking)", "import A", "#endif",
                    "import B", "#endif",
                ],
                "B", ""
            ),
            (["#if FLAG", "import A", "#else", "public import B", "#endif", "let text = \"import C\""], "B", "B"),
        ] as [([String], String, String)])
    func `branches are read as the compiler reads them`(row: (lines: [String], apple: String, linux: String)) {
        #expect(Self.imports(row.lines, on: .apple).joined() == row.apple)
        #expect(Self.imports(row.lines, on: .linux).joined() == row.linux)
    }
}
