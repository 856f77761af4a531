extension Command {
    /// The manual page of the program, in section 1, with a part for each of its commands (man(7) macros).
    package func manualPage() -> String {
        var page = Page()
        page.macro("TH", name.uppercased(), "1", "", "\(name) \(Release.version)", "User Commands")
        page.macro("SH", "NAME")
        page.text("\(name) - \(summary)")
        page.macro("SH", "SYNOPSIS")
        if commands.isEmpty { page.bold(synopsis(path: [name])) }
        for (index, command) in commands.enumerated() {
            if index > 0 { page.macro("br") }
            page.bold(command.synopsis(path: [name, command.name]))
        }
        if !details.isEmpty { page.macro("SH", "DESCRIPTION") }
        page.paragraphs(details)
        if !commands.isEmpty { page.macro("SH", "COMMANDS") }
        for command in commands {
            page.macro("SS", "\(name) \(command.name)")
            page.paragraphs([command.summary.capitalisedFirst + "."] + command.details)
            page.entries(command.operands.map { ($0.name, $0.help) })
            page.entries(command.options.map { ($0.row.term.trimmed, $0.row.help) })
            page.entries(command.statuses.map { ("status \($0.status.code)", $0.meaning) })
        }
        if !operands.isEmpty { page.macro("SH", "OPERANDS") }
        page.entries(operands.map { ($0.name, $0.help) })
        page.macro("SH", "OPTIONS")
        page.entries(rows.map { ($0.term.trimmed, $0.help) })
        if !statuses.isEmpty { page.macro("SH", "EXIT STATUS") }
        page.entries(statuses.map { ("\($0.status.code)", $0.meaning) })
        for section in sections { page.section(section) }
        return page.source
    }
}

/// Builds the source for man(7). All text goes through `escaped`.
private struct Page {
    private(set) var source = ""

    mutating func macro(_ name: String, _ arguments: String...) {
        // Inside a quoted argument a quote is written twice.
        let quoted = arguments.map { " \"" + Self.escaped($0).replacing("\"", with: "\"\"") + "\"" }
        source += "." + name + quoted.joined() + "\n"
    }

    mutating func text(_ text: String) {
        source += Self.line(Self.escaped(text)) + "\n"
    }

    mutating func bold(_ text: String) {
        source += Self.line("\\fB" + Self.escaped(text) + "\\fR") + "\n"
    }

    mutating func paragraphs(_ paragraphs: [String]) {
        for paragraph in paragraphs {
            macro("PP")
            text(paragraph)
        }
    }

    mutating func entries(_ entries: [(term: String, help: String)]) {
        for entry in entries {
            macro("TP")
            bold(entry.term)
            text(entry.help)
        }
    }

    mutating func section(_ section: ManualSection) {
        macro("SH", section.title.uppercased())
        for line in section.lines {
            switch line {
            case .paragraph(let text): paragraphs([text])
            case .entry(let term, let help): entries([(term, help)])
            case .example(let text):
                macro("PP")
                macro("EX")
                for line in text.split(separator: "\n", omittingEmptySubsequences: false) { self.text(String(line)) }
                macro("EE")
            }
        }
    }

    /// Escapes backslashes and dashes for roff: a bare dash may be printed as a hyphen, which cannot be pasted.
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
            .replacing("\n", with: " ")
    }

    /// A dot or an apostrophe at the beginning of a line would be a macro.
    private static func line(_ text: String) -> String {
        text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
