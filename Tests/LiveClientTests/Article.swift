import Foundation
import Testing

/// An article of the client library, as its readers see it.
struct Article {
    /// Lines of code between two fences.
    struct Block {
        /// The number of its first line in the article.
        let line: Int
        let language: String
        var code: [Substring] = []
    }

    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/LiveClient/LiveClient.docc").standardizedFileURL

    static var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }.sorted()
        }
    }

    private(set) var blocks: [Block] = []
    /// Lines that Markdown takes for code too, though nothing says which: four spaces behind an empty line.
    private(set) var indented: [Int] = []

    init(_ name: String) throws {
        let lines = try Self.lines(Self.folder.appending(path: name))
        var isCode = false
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("```") {
                isCode.toggle()
                if isCode { blocks.append(Block(line: index + 2, language: String(line.dropFirst(3)))) }
            } else if isCode {
                blocks[blocks.count - 1].code.append(line)
            } else if line.hasPrefix("    "), index > 0, lines[index - 1].isEmpty {
                indented.append(index + 1)
            }
        }
    }

    static func lines(_ file: URL) throws -> [Substring] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// A file has these blocks and nothing else: each behind an empty line, behind the comment of its first line.
    static func expect(_ blocks: [Block], areCompiledIn name: String) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: name)
        var compiled = try lines(file).dropFirst()
        for block in blocks {
            let expected = [""] + block.code
            let found = Array(compiled.prefix(expected.count))
            #expect(found == expected, "the block at line \(block.line) of the article is another one in \(name)")
            compiled = compiled.dropFirst(expected.count)
        }
        #expect(compiled == [""], "\(name) has code that is not in the article")
    }
}
