/// A word of the command line that is not an option.
package struct Operand: Sendable {
    package let name: String
    package let help: String
    package let isRequired: Bool
    package let completion: ValueCompletion

    package init(_ name: String, isRequired: Bool = true, completion: ValueCompletion = .nothing, help: String) {
        self.name = name
        self.isRequired = isRequired
        self.completion = completion
        self.help = help
    }
}

/// A titled part of a manual page that is not in any table: environment, files, examples.
package struct ManualSection: Sendable {
    package enum Line: Sendable {
        case paragraph(String)
        /// A term and what it means.
        case entry(String, String)
        /// Printed unchanged.
        case example(String)
    }

    package let title: String
    package let lines: [Line]

    package init(_ title: String, _ lines: [Line]) {
        self.title = title
        self.lines = lines
    }
}

/// The table of a command: parsing, `--help`, the manual page and the completions all come from it.
///
/// A program is a command. One with `commands` has a command's name as its first operand. `--help` and `--version` belong to
/// every command and are not listed.
package struct Command: Sendable {
    package let name: String
    /// What it does, in one line without a full stop.
    package let summary: String
    package let details: [String]
    package let options: [any OptionDeclaration]
    package let operands: [Operand]
    package let statuses: [(status: ExitStatus, meaning: String)]
    package let sections: [ManualSection]
    package let commands: [Command]
    /// Adds `--completion SHELL` and `--man`, for programs without commands of these names.
    package let documentsItself: Bool
    /// How an error names an unexpected word: without the word, if words may be secrets.
    package let wordShown: @Sendable (String) -> String

    package init(
        _ name: String, summary: String, details: [String] = [], options: [any OptionDeclaration] = [],
        operands: [Operand] = [], statuses: [(status: ExitStatus, meaning: String)] = [],
        sections: [ManualSection] = [], commands: [Command] = [], documentsItself: Bool = false,
        wordShown: @escaping @Sendable (String) -> String = { $0 }
    ) {
        precondition(commands.isEmpty || operands.isEmpty, "the operands of \(name) are its commands")
        self.name = name
        self.summary = summary
        self.details = details
        self.options = options
        self.operands = operands
        self.statuses = statuses
        self.sections = sections
        self.commands = commands
        self.documentsItself = documentsItself
        self.wordShown = wordShown
    }

    /// The table's rows and the options that every command has.
    package var rows: [OptionRow] {
        options.map(\.row) + (documentsItself ? [Self.completion.row, Self.manual.row] : [])
            + [Self.help.row, Self.version.row]
    }

    static let help = Flag("help", short: "h", help: "print this help and end")
    static let version = Flag("version", short: "V", help: "print the version and end")
    static let completion = SingleOption(
        "completion", .choice("SHELL", of: Shell.allCases.map(\.rawValue)),
        help: "print the completions for a shell and end")
    static let manual = Flag("man", help: "print the manual page and end")
}
