import Testing

/// What an app developer sees of the SDK says what it is.
struct DocCommentTests {
    /// The declarations of a Swift source that are public and have no doc comment, by their lines. Without the word are the cases
    /// of a public enum and what a public protocol requires.
    static func undocumented(swift lines: [String]) -> [String] {
        // The kinds and indentations of the public types around a line whose members do without the word.
        var around: [(kind: Substring, indentation: Int)] = []
        var found: [String] = []
        for (index, line) in lines.enumerated() where line.contains(where: { $0 != " " }) {
            let indentation = line.prefix { $0 == " " }.count
            while let last = around.last, indentation <= last.indentation { around.removeLast() }
            let words = line.split(separator: " ").drop { $0.hasPrefix("@") }
            let isPublic = isPublic(words)
            if let type = around.last, indentation == type.indentation + 4, isMember(words, of: type.kind) || isPublic {
                if !isDocumented(lines, index) { found.append(line) }
            } else if isPublic, !isDocumented(lines, index) {
                found.append(line)
            }
            if isPublic, line.hasSuffix("{"), let kind = words.first(where: { ["enum", "protocol"].contains($0) }) {
                around.append((kind, indentation))
            }
        }
        return found
    }

    private static func isPublic(_ words: ArraySlice<Substring>) -> Bool {
        guard words.first == "public" || words.first?.hasPrefix("public(") == true else { return false }
        return words.dropFirst().first != "import"
    }

    private static func isMember(_ words: ArraySlice<Substring>, of kind: Substring) -> Bool {
        let first = words.first?.prefix { $0.isLetter } ?? ""
        if kind == "enum" { return first == "case" || words.starts(with: ["indirect", "case"]) }
        return ["associatedtype", "func", "init", "mutating", "static", "subscript", "typealias", "var"].contains(first)
    }

    private static func isDocumented(_ lines: [String], _ index: Int) -> Bool {
        let above = lines[..<index].reversed().map { $0.drop { $0 == " " } }
        return above.first { !$0.hasPrefix("@") && !$0.hasPrefix("#") }?.hasPrefix("///") == true
    }

    /// The exports of a file of types that have no comment. What is only passed on has it elsewhere.
    static func undocumented(types lines: [String]) -> [String] {
        lines.indices.filter { index in
            let line = lines[index]
            guard line.hasPrefix("export "), !line.hasPrefix("export *"), !line.hasPrefix("export {") else {
                return false
            }
            return index == 0 || !lines[index - 1].hasSuffix("*/")
        }.map { lines[$0] }
    }

    @Test func `each public declaration of the client library has a doc comment`() {
        let files = SourceTree.swiftFiles.filter {
            ["LiveClient", "LiveCollections", "LiveClientURLSession", "LiveClientReactor", "LiveState"].contains(
                $0.target)
                && $0.isSource
        }
        #expect(files.count > 50)
        for file in files { #expect(Self.undocumented(swift: file.lines) == [], "\(file)") }
    }

    @Test func `each export of the module's types has a comment`() {
        let files = SourceTree.files.filter { $0.path.hasPrefix("Sources/LiveClientJS/types/") }
        #expect(files.count > 5)
        for file in files { #expect(Self.undocumented(types: file.lines) == [], "\(file)") }
    }

    @Test(arguments: [
        ("/// A.\npublic struct A {}", 0), ("public struct A {}", 1), ("/// A.\n@frozen\n  public enum A {}", 0),
        ("/// A.\n#if canImport(B)\n    @B\n#endif\npublic class A {}", 0),
        ("#if B\n    @B\n#endif\npublic class A {}", 1),
        ("@frozen public enum A {}", 1), ("// A.\npublic let a = 1", 1), ("public import A", 0),
        ("    public private(set) var a = 1", 1), ("struct A {}", 0), ("/// A.\n\npublic func a() {}", 1),
        ("/// A.\npublic enum A {\n    case a, b\n}", 1), ("/// A.\npublic enum A {\n    /// A.\n    case a\n}", 0),
        ("enum A {\n    case a\n}", 0), ("/// A.\npublic indirect enum A {\n    indirect case a(A)\n}", 1),
        (
            "/// A.\npublic enum A {\n    var a: Int {\n        switch self {\n        case .a: 1\n        }\n    }\n}",
            0
        ),
        ("/// A.\npublic protocol A {\n    func a()\n    /// B.\n    init(b: Int)\n    associatedtype C\n}", 2),
        ("/// A.\npublic protocol A {\n}\nextension A {\n    func a() {}\n}", 0),
        ("/// A.\npublic struct A {\n    case a\n    func a() {}\n    public func b() {}\n}", 1),
    ]) func `a declaration without one is found`(_ text: String, _ count: Int) {
        #expect(
            Self.undocumented(swift: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
                .count == count)
    }

    @Test(arguments: [
        ("/** A. */\nexport type A = 1", 0), ("export class A {", 1), ("export * from './a.js'", 0),
        ("export { a } from './a.js'", 0), ("/** A. */\nexport function a(): void\nexport function b(): void", 1),
    ]) func `an export without one is found`(_ text: String, _ count: Int) {
        #expect(Self.undocumented(types: text.split(separator: "\n").map(String.init)).count == count)
    }
}
