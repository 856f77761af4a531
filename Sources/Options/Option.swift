/// One row of a command's table: everything that parsing, help, manual page and completions need about an option.
package struct OptionRow: Sendable {
    package enum Value: Sendable {
        case none
        case required
        /// `--name`, `--name=VALUE`, or `--name VALUE` where the next word does not begin with a dash.
        case optional
    }

    /// The long name, without its dashes.
    package let name: String
    package let short: Character?
    package let value: Value
    package let placeholder: String
    /// A sentence without its full stop, or several. It contains the default, if there is one.
    package let help: String
    package let isRepeatable: Bool
    package let isRequired: Bool
    /// An error never contains a secret's value, and the value is wiped from the process title.
    package let isSecret: Bool
    package let completion: ValueCompletion
    let problem: @Sendable (String) -> ValueProblem?

    package init(
        _ name: String, short: Character? = nil, value: Value = .none, placeholder: String = "", help: String,
        isRepeatable: Bool = false, isRequired: Bool = false, isSecret: Bool = false,
        completion: ValueCompletion = .nothing, problem: @escaping @Sendable (String) -> ValueProblem? = { _ in nil }
    ) {
        self.name = name
        self.short = short
        self.value = value
        self.placeholder = placeholder
        self.help = help
        self.isRepeatable = isRepeatable
        self.isRequired = isRequired
        self.isSecret = isSecret
        self.completion = completion
        self.problem = problem
    }
}

/// An option with the type of its value: the key that reads its value from the `Arguments`.
package protocol OptionDeclaration: Sendable {
    var row: OptionRow { get }
}

/// An option without a value.
package struct Flag: OptionDeclaration {
    package let row: OptionRow

    package init(_ name: String, short: Character? = nil, help: String) {
        row = OptionRow(name, short: short, help: help)
    }
}

/// An option with a value. If it is given twice, the last one counts.
package struct SingleOption<Value: Sendable>: OptionDeclaration {
    package let row: OptionRow
    let kind: ValueKind<Value>

    package init(
        _ name: String, short: Character? = nil, _ kind: ValueKind<Value>, isRequired: Bool = false,
        isSecret: Bool = false, help: String
    ) {
        self.kind = kind
        row = OptionRow(
            name, short: short, value: .required, placeholder: kind.placeholder, help: help, isRequired: isRequired,
            isSecret: isSecret, completion: kind.completion, problem: kind.problem)
    }
}

/// An option with a value that can be given several times. Its values keep their order.
package struct RepeatedOption<Value: Sendable>: OptionDeclaration {
    package let row: OptionRow
    let kind: ValueKind<Value>

    package init(
        _ name: String, short: Character? = nil, _ kind: ValueKind<Value>, isSecret: Bool = false, help: String
    ) {
        self.kind = kind
        row = OptionRow(
            name, short: short, value: .required, placeholder: kind.placeholder, help: help, isRepeatable: true,
            isSecret: isSecret, completion: kind.completion, problem: kind.problem)
    }
}

/// An option whose value may be left out.
package struct OptionalValueOption<Value: Sendable>: OptionDeclaration {
    package let row: OptionRow
    let kind: ValueKind<Value>

    package init(
        _ name: String, short: Character? = nil, _ kind: ValueKind<Value>, isSecret: Bool = false, help: String
    ) {
        self.kind = kind
        row = OptionRow(
            name, short: short, value: .optional, placeholder: kind.placeholder, help: help, isSecret: isSecret,
            completion: kind.completion, problem: kind.problem)
    }
}

extension ValueKind {
    /// `read` without its value, so that a table's rows need not know types.
    var problem: @Sendable (String) -> ValueProblem? {
        { text in
            do throws(ValueProblem) {
                _ = try read(text)
                return nil
            } catch {
                return error
            }
        }
    }
}
