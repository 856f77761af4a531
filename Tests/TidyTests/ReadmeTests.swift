import Testing

/// README's source map leads to what is there.
struct ReadmeTests {
    /// More files than that nobody reads on the first evening.
    static let longestWay = 10

    /// The first numbered list behind a sentence: its numbers, and the path that each line begins with.
    static func list(after sentence: String, in text: String) -> [(number: Int, path: String)] {
        guard let start = text.range(of: sentence)?.upperBound else { return [] }
        var list: [(number: Int, path: String)] = []
        for line in text[start...].split(separator: "\n", omittingEmptySubsequences: false).dropFirst() {
            if let match = line.firstMatch(of: /^(\d+)\. `([^`]+)`/) {
                list.append((Int(match.1) ?? 0, String(match.2)))
            } else if !list.isEmpty, line.isEmpty {
                break
            }
        }
        return list
    }

    @Test func `it is read in one sitting`() {
        let lines = SourceTree.readme.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        #expect(lines <= 150, "README has \(lines) lines: what is only for some belongs into an article")
    }

    @Test func `the path of an event is a list of at most ten files, in its order`() {
        let way = Self.list(after: "the path of an event", in: SourceTree.readme)
        #expect(way.count >= 6 && way.count <= Self.longestWay, "\(way.count) files")
        #expect(way.map(\.number) == Array(1...max(1, way.count)))
        let files = way.map { entry in SourceTree.swiftFiles.first { $0.path == entry.path } }
        for (entry, file) in zip(way, files) { #expect(file != nil, "\(entry.path) is not there") }
        // Each file names a type of one before it, is named there, or reads the messages that it posts: so an event can
        // come to it.
        let messages = SourceTree.swiftFiles.first { $0.path.hasSuffix("/Messages.swift") }
        let posted = messages.map { SourceText(code: $0.code).outerTypes } ?? []
        let texts = files.compactMap { $0 }.map { SourceText(code: $0.code) }
        for (index, text) in texts.enumerated().dropFirst() {
            let isReached = texts[..<index].contains { before in
                !before.names.isDisjoint(with: text.outerTypes) || !text.names.isDisjoint(with: before.outerTypes)
                    || !before.names.intersection(text.names).isDisjoint(with: posted)
            }
            #expect(isReached, "\(way[index].path) knows none of the files before it")
        }
    }

    @Test func `every file that the table begins with is there`() {
        let names = Set(
            SourceTree.swiftFiles.filter(\.isSource).map {
                $0.path.split(separator: "/").dropFirst(2).joined(separator: "/")
            })
        for row in SourceTree.readme.split(separator: "\n").filter({ $0.hasPrefix("| `") && $0.contains(".swift` |") })
        {
            guard let cell = row.split(separator: "|").last(where: { $0.contains(".swift") }) else { continue }
            for match in cell.matches(of: /`([^`]+)`/) { #expect(names.contains(String(match.1)), "\(match.1)") }
        }
    }

    @Test func `every file and folder that it names is there`() {
        let paths = SourceTree.files.map(\.path)
        for match in SourceTree.readme.matches(of: /`((?:Sources|Tests|deploy)\/[\w\/+.-]+)`/) {
            let path = String(match.1)
            let isThere = paths.contains { $0 == path || $0.hasPrefix(path + "/") }
            #expect(isThere, "\(path)")
        }
    }

    @Test func `every target is in the map`() {
        let targets = Set(SourceTree.swiftFiles.filter(\.isSource).map(\.target))
        for target in targets.sorted() { #expect(SourceTree.readme.contains("`\(target)`"), "\(target)") }
    }

    @Test func `a list is read up to its end`() {
        let list = Self.list(after: "the way", in: "x\nthe way is\n\n1. `a` — b\n   c\n2. `d`\n\n1. `e`\n")
        #expect(list.map(\.number) == [1, 2] && list.map(\.path) == ["a", "d"])
    }
}
