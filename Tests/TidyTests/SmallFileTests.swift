import Testing

/// A file is a room of its own, or it stands with what it serves.
struct SmallFileTests {
    static let minimumFileLines = 40
    /// So many other files that name what a small file declares: it serves no single one of them, so it stands alone.
    static let minimumUsers = 3

    /// The small files among sources that are to be merged, each with the number of files that use it.
    static func toBeMerged(_ files: [SourceTree.File]) -> [(file: SourceTree.File, users: Int)] {
        files.filter { $0.lines.count - 1 < minimumFileLines }.compactMap { file in
            let declared = SourceText(code: file.code).outerTypes
            let users = files.filter { other in
                other.path != file.path && !SourceText(code: other.code).names.isDisjoint(with: declared)
            }
            return users.count < minimumUsers ? (file, users.count) : nil
        }
    }

    @Test func `a small file serves many others, or is merged with what it serves`() {
        for (file, users) in Self.toBeMerged(SourceTree.swiftFiles.filter(\.isSource)) {
            Issue.record(
                "\(file) has \(file.lines.count - 1) lines, and \(users) files use it: merge it with what it serves")
        }
    }

    @Test(arguments: [(2, 1), (3, 0)]) func `three users are enough, and no fewer`(users: Int, merged: Int) {
        let using = (0..<users).map { index in
            SourceTree.File(
                path: "Sources/T/User\(index).swift",
                text: "struct User\(index) { var a: A }\n" + String(repeating: "\n", count: Self.minimumFileLines))
        }
        let small = SourceTree.File(path: "Sources/T/A.swift", text: "struct A {}\n")
        #expect(Self.toBeMerged(using + [small]).count == merged)
    }
}
