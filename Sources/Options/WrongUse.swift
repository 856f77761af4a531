/// A mistake in a command line. Its text is one line and names the most similar correct word.
package enum WrongUse: Error, Equatable, Sendable {
    case unknownOption(String, nearest: String)
    case ambiguousOption(String, among: [String])
    case missingValue(option: String, placeholder: String)
    case unexpectedValue(option: String)
    /// `value` is nil for a secret.
    case badValue(option: String, value: String?, problem: String)
    case missingOption(String)
    case unknownCommand(String, nearest: String)
    case missingCommand(among: [String])
    case badOperand(name: String, value: String, problem: String, nearest: String?)
    case unexpectedOperand(String)
    case missingOperand(String)
    /// A mistake that no table can detect: options that exclude one another and the like.
    case other(String)
}

extension WrongUse: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownOption(let word, let nearest):
            "unknown option '\(word.shortened)': did you mean '\(nearest)'?"
        case .ambiguousOption(let word, let names):
            "option '\(word.shortened)' could be \(names.map { "'\($0)'" }.joined(separator: " or "))"
        case .missingValue(let option, let placeholder):
            "option '\(option)' needs a value: \(option) \(placeholder)"
        case .unexpectedValue(let option):
            "option '\(option)' does not allow a value"
        case .badValue(let option, let value?, let problem):
            "option '\(option)': '\(value.shortened)' \(problem)"
        case .badValue(let option, nil, let problem):
            "option '\(option)': its value \(problem)"
        case .missingOption(let option):
            "option '\(option)' is required"
        case .unknownCommand(let word, let nearest):
            "unknown command '\(word.shortened)': did you mean '\(nearest)'?"
        case .missingCommand(let names):
            "a command is missing: one of \(names.joined(separator: ", "))"
        case .badOperand(_, let value, let problem, let nearest):
            "'\(value.shortened)' \(problem)" + (nearest.map { ": did you mean '\($0)'?" } ?? "")
        case .unexpectedOperand(let word):
            "unexpected word '\(word.shortened)'"
        case .missingOperand(let name):
            "\(name) is missing"
        case .other(let text):
            text
        }
    }
}

extension String {
    /// On one line, and short enough to read: a wrong word can be a whole file.
    fileprivate var shortened: String {
        let maximumCharacters = 100
        return (count > maximumCharacters ? String(prefix(maximumCharacters)) + "…" : self).printable
    }
}

/// Finds similar words, for `did you mean`.
package enum NearestName {
    /// Only the beginning of a longer word is compared, so that a hostile one costs no more than a long name.
    static let maximumComparedBytes = 64

    /// The name with the smallest edit distance to `word`; the first of several. Nil only if there are none.
    package static func nearest(to word: String, among names: [String]) -> String? {
        names.map { (name: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }?.name
    }

    /// How many insertions, deletions, replacements and swaps of neighbours make `left` into `right`, without regard
    /// to upper and lower case (optimal string alignment).
    package static func distance(_ left: String, _ right: String) -> Int {
        let a = Array(left.lowercased().utf8.prefix(maximumComparedBytes))
        let b = Array(right.lowercased().utf8.prefix(maximumComparedBytes))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in 0..<b.count {
                var best = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
