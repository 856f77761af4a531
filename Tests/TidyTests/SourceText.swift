import Glibc

/// A Swift source with its comments, and what stands inside its strings and raw names, blanked out: what is left is
/// code, at the same lines.
struct SourceText {
    /// The code, line by line.
    let code: [String]

    init(code: [String]) { self.code = code }

    init(_ text: String) {
        var scanner = Scanner(text: Array(text.utf8))
        scanner.scanCode(isInterpolation: false)
        code = scanner.output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// A function, initializer, accessor list or test: where its declaration begins and how many lines it has.
    struct Function: Equatable {
        let name: String
        let line: Int
        let lineCount: Int
    }

    /// Every function with a body, in the order of their ends.
    var functions: [Function] {
        var found: [Function] = []
        var open: [(depth: Int, name: String, line: Int)] = []
        var declared: (name: String, line: Int)?
        var braces = 0
        var parentheses = 0
        for (index, line) in code.enumerated() {
            if parentheses == 0, let name = Self.declaration(line) { declared = (name, index + 1) }
            for character in line.utf8 {
                switch character {
                case UInt8(ascii: "("): parentheses += 1
                case UInt8(ascii: ")"): parentheses -= 1
                case UInt8(ascii: "{"):
                    braces += 1
                    if parentheses == 0, let begun = declared {
                        open.append((braces, begun.name, begun.line))
                        if parentheses == 0 { declared = nil }
                    }
                case UInt8(ascii: "}"):
                    if let last = open.last, last.depth == braces {
                        found.append(Function(name: last.name, line: last.line, lineCount: index + 2 - last.line))
                        open.removeLast()
                    }
                    braces -= 1
                    // A requirement of a protocol has no body; what follows the protocol is not its own.
                    if parentheses == 0 { declared = nil }
                default: break
                }
            }
        }
        return found
    }
}

extension SourceText {
    /// The function that a line of code begins to declare.
    private static func declaration(_ line: String) -> String? {
        guard line.mentions("func", "init", "subscript") else { return nil }
        return line.firstMatch(of: /\b(func\s+(?:`[^`]*`|\S+?)|init[?!]?|deinit|subscript)\s*[(<{]/).map {
            String($0.1)
        }
    }
}

extension String {
    /// Whether one of the words stands anywhere in it. Asked before a regular expression, which costs a hundred times
    /// as much and has nothing to find in most lines.
    func mentions(_ words: String...) -> Bool {
        words.contains { unsafe strstr(self, $0) != nil }
    }
}

/// Copies code and blanks the rest. Knows nested comments, raw and multi-line strings, interpolation and raw names.
private struct Scanner {
    let text: [UInt8]
    private(set) var output: [UInt8] = []
    private var place = 0

    private static let quote = UInt8(ascii: "\"")
    private static let grave = UInt8(ascii: "`")
    private static let newline = UInt8(ascii: "\n")

    init(text: [UInt8]) { self.text = text }

    private func sees(_ word: [UInt8], at offset: Int = 0) -> Bool {
        let start = place + offset
        guard start + word.count <= text.count else { return false }
        for index in word.indices where text[start + index] != word[index] { return false }
        return true
    }

    private func sees(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        place + 1 < text.count && text[place] == UInt8(ascii: first) && text[place + 1] == UInt8(ascii: second)
    }

    private mutating func copy(_ count: Int = 1) {
        for _ in 0..<count where place < text.count {
            output.append(text[place])
            place += 1
        }
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where place < text.count {
            output.append(text[place] == Self.newline ? Self.newline : UInt8(ascii: " "))
            place += 1
        }
    }

    /// Copies until the text ends or, inside an interpolation, its closing parenthesis.
    mutating func scanCode(isInterpolation: Bool) {
        var depth = 0
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "/") where sees("/", "/"):
                while place < text.count, text[place] != Self.newline { blank() }
            case UInt8(ascii: "/") where sees("/", "*"): scanComment()
            case Self.grave:
                copy()
                while place < text.count, text[place] != Self.grave, text[place] != Self.newline { blank() }
                copy()
            case Self.quote: scanString(hashes: 0)
            case UInt8(ascii: "#"):
                let hashes = text[place...].prefix { $0 == UInt8(ascii: "#") }.count
                if place + hashes < text.count, text[place + hashes] == Self.quote {
                    scanString(hashes: hashes)
                } else {
                    copy(hashes)
                }
            case UInt8(ascii: "("):
                depth += 1
                copy()
            case UInt8(ascii: ")"):
                copy()
                if isInterpolation, depth == 0 { return }
                depth -= 1
            default: copy()
            }
        }
    }

    private mutating func scanComment() {
        var depth = 0
        repeat {
            if sees("/", "*") {
                depth += 1
                blank(2)
            } else if sees("*", "/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && place < text.count
    }

    private mutating func scanString(hashes: Int) {
        let marks = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
        let three = [Self.quote, Self.quote, Self.quote]
        let quotes = sees(three, at: hashes) ? three : [Self.quote]
        let end = quotes + marks
        let escape = [UInt8(ascii: "\\")] + marks
        let interpolation = escape + [UInt8(ascii: "(")]
        copy(hashes + quotes.count)
        while place < text.count, !sees(end) {
            if sees(interpolation) {
                copy(interpolation.count)
                scanCode(isInterpolation: true)
            } else if sees(escape) {
                blank(escape.count + 1)
            } else {
                blank()
            }
        }
        copy(end.count)
    }
}
