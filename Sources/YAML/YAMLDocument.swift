import CYAML

/// Something in a document that is not read, and where.
package struct YAMLProblem: Error, Equatable, Sendable {
    package let line: Int
    /// The way to it, such as `kafka.topics[1]`; empty where it is not known.
    package let key: String
    /// What is wrong and what would be right.
    package let text: String
}

/// Reads one document of the part of YAML that settings need: maps, lists and scalars, in block and flow style.
///
/// Refused, each with its line: tabs as indentation, anchors, aliases, tags, several documents, keys that are no text
/// or stand twice, bytes that are not UTF-8. libyaml does the scanning.
package enum YAMLDocument {
    /// Settings are some kilobytes; a path that names a log or a device is noticed.
    package static let maximumBytes = 1 << 20
    /// Settings go four deep.
    package static let maximumDepth = 16
    /// A file that is not YAML at all should not fill the terminal.
    static let maximumProblems = 100

    /// - Returns: the root, nil when the document is empty or cannot be read, and all that is wrong with it. With a
    ///   syntax error, what stands behind it is not seen.
    package static func read(_ bytes: [UInt8]) -> (root: YAMLElement?, problems: [YAMLProblem]) {
        guard bytes.count <= maximumBytes else {
            let text = "\(bytes.count) bytes, over the limit of \(maximumBytes): this is no settings file"
            return (nil, [YAMLProblem(line: 1, key: "", text: text)])
        }
        let lines = YAMLLines(bytes)
        // libyaml would call a tab "a character that cannot start any token", where it minds it at all.
        let problems = lines.problems
        guard problems.isEmpty else { return (nil, problems) }
        var builder = YAMLBuilder(bytes)
        do throws(YAMLProblem) {
            let root = try builder.document()
            return (root, builder.problems)
        } catch {
            let located = YAMLProblem(
                line: error.line, key: error.key.isEmpty ? lines.key(nearLine: error.line) : error.key, text: error.text
            )
            return (nil, builder.problems + [located])
        }
    }
}

/// The document as lines, for what libyaml does not report.
struct YAMLLines {
    private let lines: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) {
        lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    /// Lines with bytes that are not UTF-8, or with a tab before the first character.
    var problems: [YAMLProblem] {
        var problems: [YAMLProblem] = []
        for (index, line) in lines.enumerated() where problems.count < YAMLDocument.maximumProblems {
            if String(validating: line, as: UTF8.self) == nil {
                problems.append(
                    YAMLProblem(line: index + 1, key: key(nearLine: index + 1), text: "bytes that are not UTF-8"))
            } else if hasTabAsIndentation(line) {
                problems.append(
                    YAMLProblem(
                        line: index + 1, key: key(nearLine: index + 1),
                        text: "a tab as indentation: YAML takes blanks only"))
            }
        }
        return problems
    }

    /// The key in a line, behind the last key without indentation: a guess for people, where no parser can help.
    func key(nearLine number: Int) -> String {
        guard lines.indices.contains(number - 1) else { return "" }
        let own = Self.key(in: lines[number - 1])
        guard let own, own.isIndented else { return own?.text ?? "" }
        let section = lines[..<(number - 1)].reversed().lazy.compactMap(Self.key).first { !$0.isIndented }
        return section.map { "\($0.text).\(own.text)" } ?? own.text
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
