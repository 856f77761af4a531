/// The content of a command line, checked against the command's table.
package struct Arguments: Sendable {
    package struct Occurrence: Sendable, Equatable {
        /// The option's long name.
        package let name: String
        package let value: String?
    }

    /// The command that was called, after the program's name; empty for a program without commands.
    package internal(set) var path: [String] = []
    /// The options in their order on the command line.
    package internal(set) var occurrences: [Occurrence] = []
    package internal(set) var operands: [String] = []
    /// Values of secret options, in their order on the command line.
    package internal(set) var secrets: [String] = []

    package subscript(_ flag: Flag) -> Bool {
        occurrences.contains { $0.name == flag.row.name }
    }

    /// The last value; nil if the option was not given.
    package subscript<Value>(_ option: SingleOption<Value>) -> Value? {
        values(option.row.name, option.kind).last
    }

    /// All values in their order.
    package subscript<Value>(_ option: RepeatedOption<Value>) -> [Value] {
        values(option.row.name, option.kind)
    }

    /// `.none` when the option was not given, `.some(nil)` when it was without a value.
    package subscript<Value>(_ option: OptionalValueOption<Value>) -> Value?? {
        guard let last = occurrences.last(where: { $0.name == option.row.name }) else { return .none }
        guard let text = last.value else { return .some(nil) }
        return .some(read(text, option.kind))
    }

    /// The value of an option that the table requires.
    package func required<Value>(_ option: SingleOption<Value>) -> Value {
        guard let value = self[option] else { preconditionFailure("--\(option.row.name) is not required by its table") }
        return value
    }

    private func values<Value>(_ name: String, _ kind: ValueKind<Value>) -> [Value] {
        occurrences.compactMap { $0.name == name ? $0.value : nil }.map { read($0, kind) }
    }

    private func read<Value>(_ text: String, _ kind: ValueKind<Value>) -> Value {
        do throws(ValueProblem) {
            return try kind.read(text)
        } catch {
            preconditionFailure("a value that parsing has let through is refused later")
        }
    }
}
