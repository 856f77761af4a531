import CYAML

/// A part of a document that is not accepted, and its line.
package struct YAMLProblem: Error, Equatable, Sendable {
    package let line: Int
    /// The path to it, such as `kafka.topics[1]`; empty where it is not known.
    package let key: String
    /// What is wrong and what would be right.
    package let text: String
}

/// Reads one document of the part of YAML that settings need: maps, lists and scalars, in block and flow style.
///
/// Refused, each with its line: tabs as indentation, anchors, aliases, tags, several documents, keys that are not text
/// or are duplicates, bytes that are not UTF-8. libyaml does the scanning.
package enum YAMLDocument {
    /// Settings are some kilobytes. The limit detects a path that names a log or a device.
    package static let maximumBytes = 1 << 20
    /// Settings are nested four levels deep.
    package static let maximumDepth = 16
    /// A file that is not YAML at all should not fill the terminal.
    static let maximumProblems = 100

    /// - Returns: the root, or nil when the document is empty or invalid, and everything that is wrong with it. Lines after a
    ///   syntax error are not checked.
    package static func read(_ bytes: [UInt8]) -> (root: YAMLElement?, problems: [YAMLProblem]) {
        guard bytes.count <= maximumBytes else {
            let text = "\(bytes.count) bytes, over the limit of \(maximumBytes): this is no settings file"
            return (nil, [YAMLProblem(line: 1, key: "", text: text)])
        }
        // A byte order mark, which some editors write first, does not belong to the document.
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        let lines = YAMLLines(bytes)
        // libyaml reports a tab as "a character that cannot start any token", where it reports it at all.
        let problems = lines.problems
        guard problems.isEmpty else { return (nil, problems) }
        var builder = YAMLBuilder(bytes)
        do throws(YAMLProblem) {
            let root = try builder.document()
            return (root, builder.problems)
        } catch {
            let located = YAMLProblem(
                line: error.line, key: error.key.isEmpty ? lines.key(nearLine: error.line) : error.key,
                text: error.text + (lines.indentation(ofLine: error.line).map { ": \($0)" } ?? ""))
            return (nil, builder.problems + [located])
        }
    }
}

/// The document as lines, for the problems that libyaml does not report.
struct YAMLLines {
    private let lines: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) {
        lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    /// Lines with bytes that are not UTF-8, or with a tab before the first character.
    var problems: [YAMLProblem] {
        if let first = lines.first, first.starts(with: [0xFF, 0xFE]) || first.starts(with: [0xFE, 0xFF]) {
            return [YAMLProblem(line: 1, key: "", text: "UTF-16: save the file as UTF-8")]
        }
        var problems: [YAMLProblem] = []
        for (index, line) in lines.enumerated() where problems.count < YAMLDocument.maximumProblems {
            if String(validating: line, as: UTF8.self) == nil {
                problems.append(
                    YAMLProblem(line: index + 1, key: key(nearLine: index + 1), text: "bytes that are not UTF-8"))
            } else if hasTabAsIndentation(line) {
                problems.append(
                    YAMLProblem(
                        line: index + 1, key: key(nearLine: index + 1),
                        text: "a tab as indentation: YAML allows only spaces"))
            }
        }
        return problems
    }

    /// The key in a line, after the last key without indentation: a guess for people, where no parser can help.
    func key(nearLine number: Int) -> String {
        guard lines.indices.contains(number - 1) else { return "" }
        let own = Self.key(in: lines[number - 1])
        guard let own, own.isIndented else { return own?.text ?? "" }
        let section = lines[..<(number - 1)].reversed().lazy.compactMap(Self.key).first { !$0.isIndented }
        return section.map { "\($0.text).\(own.text)" } ?? own.text
    }

    /// The columns of a line and of the keys above it. Nil unless the line begins in none of their columns and must not begin
    /// there. libyaml detects the fault much later, and names no columns.
    func indentation(ofLine number: Int) -> String? {
        guard lines.indices.contains(number - 1), let column = Self.column(of: lines[number - 1]) else { return nil }
        // The keys that are open above the line, from the outermost to the innermost.
        var open: [(name: String, column: Int, hasValue: Bool)] = []
        for line in lines[..<(number - 1)] {
            guard let key = Self.keyWithColumn(in: line) else { continue }
            while let last = open.last, last.column >= key.column { open.removeLast() }
            open.append(key)
        }
        guard let last = open.last, !open.contains(where: { $0.column == column }),
            column < last.column || last.hasValue
        else { return nil }
        let columns = open.map { "\($0.name) in column \($0.column)" }.joined(separator: ", ")
        return "the line begins in column \(column), and the keys above it are \(columns)"
    }

    /// The column from 1, after the dashes of a list; nil for a line without content.
    private static func column(of line: ArraySlice<UInt8>) -> Int? {
        var rest = line.drop { $0 == 0x20 }
        while rest.first == UInt8(ascii: "-"), let next = rest.dropFirst().first, next == 0x20 {
            rest = rest.dropFirst().drop { $0 == 0x20 }
        }
        guard let first = rest.first, first != UInt8(ascii: "#"), first != 0x0D else { return nil }
        return line.count - rest.count + 1
    }

    private static func keyWithColumn(in line: ArraySlice<UInt8>) -> (name: String, column: Int, hasValue: Bool)? {
        guard let name = key(in: line)?.text, let column = column(of: line) else { return nil }
        let value = line.dropFirst(column - 1 + name.utf8.count + 1).drop { $0 == 0x20 }.first
        return (name, column, value != nil && value != UInt8(ascii: "#") && value != 0x0D)
    }

    private func hasTabAsIndentation(_ line: ArraySlice<UInt8>) -> Bool {
        line.prefix { $0 == 0x20 || $0 == 0x09 }.contains(0x09)
    }

    private static func key(in line: ArraySlice<UInt8>) -> (text: String, isIndented: Bool)? {
        let content = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: "-") }
        let word = content.prefix { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"): true
            default: false
            }
        }
        guard !word.isEmpty, content.dropFirst(word.count).first == UInt8(ascii: ":") else { return nil }
        return (String(decoding: word, as: UTF8.self), content.count < line.count)
    }
}
