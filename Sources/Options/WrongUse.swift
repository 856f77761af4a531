/// What is wrong with a command line. Its text is one line and names the nearest right word.
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
    /// What no table can see: options that exclude one another and the like.
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
            "option '\(option)' takes no value"
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
    /// On one line and of a length that a person reads: a wrong word can be a whole file.
    fileprivate var shortened: String {
        let maximumCharacters = 100
        return (count > maximumCharacters ? String(prefix(maximumCharacters)) + "…" : self).printable
    }
}
