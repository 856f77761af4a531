/// The most columns of a line: every terminal has as many.
private let columns = 80

extension Command {
    /// What `--help` prints.
    /// - Parameter path: the program's name, then the command's.
    func helpText(path: [String]) -> String {
        var text = "Usage: \(synopsis(path: path))\n\n"
        for paragraph in [summary.capitalisedFirst + "."] + details {
            text += paragraph.wrapped(to: columns).joined(separator: "\n") + "\n\n"
        }
        text += table("Commands", commands.map { ($0.name, $0.summary) })
        text += table("Operands", operands.map { ($0.name, $0.help) })
        text += table("Options", rows.map { ($0.term, $0.help) })
        text += table("Exit status", statuses.map { ("\($0.status.code)", $0.meaning) })
        if !commands.isEmpty { text += "See '\(path[0]) COMMAND --help' for the options of a command.\n\n" }
        return String(text.dropLast())
    }

    /// `livegate serve --config FILE [OPTION]…`
    func synopsis(path: [String]) -> String {
        var words = path
        words += options.map(\.row).filter(\.isRequired).map { "--\($0.name) \($0.placeholder)" }
        words.append("[OPTION]…")
        if !commands.isEmpty { words.append("COMMAND …") }
        words += operands.map { $0.isRequired ? $0.name : "[\($0.name)]" }
        return words.joined(separator: " ")
    }

    private func table(_ title: String, _ rows: [(term: String, help: String)]) -> String {
        guard !rows.isEmpty else { return "" }
        let maximumIndent = 30
        let indent = min(maximumIndent, (rows.map(\.term.count).max() ?? 0) + 4)
        var text = title + ":\n"
        for row in rows {
            var lines = row.help.wrapped(to: columns - indent)
            var head = "  " + row.term
            if head.count + 2 <= indent {
                head += String(repeating: " ", count: indent - head.count) + (lines.first ?? "")
                lines = Array(lines.dropFirst())
            }
            text += head + "\n"
            for line in lines { text += String(repeating: " ", count: indent) + line + "\n" }
        }
        return text + "\n"
    }
}

extension OptionRow {
    /// `-c, --config FILE`, and `--passphrase [WORD]` for an optional value.
    var term: String {
        let names = (short.map { "-\($0), " } ?? "    ") + "--\(name)"
        return switch value {
        case .none: names
        case .required: "\(names) \(placeholder)"
        case .optional: "\(names) [\(placeholder)]"
        }
    }
}

extension String {
    var capitalisedFirst: String { prefix(1).uppercased() + dropFirst() }

    /// The words in lines of at most `width` characters; a longer word has a line of its own.
    func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }
}
