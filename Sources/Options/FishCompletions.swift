extension Command {
    func fishCompletions() -> String {
        var lines = ["# fish completion for \(name)", "complete -c \(name) -f"]
        guard !commands.isEmpty else {
            return (lines + fishLines(program: name, condition: nil)).joined(separator: "\n") + "\n"
        }
        let names = commands.map(\.name).joined(separator: " ")
        let none = "not __fish_seen_subcommand_from \(names)"
        for command in commands {
            lines.append(
                "complete -c \(name) -n \(none.fishQuoted) -a \(command.name) -d \(command.summary.fishQuoted)")
        }
        lines += fishLines(program: name, condition: none)
        for command in commands {
            lines += command.fishLines(program: name, condition: "__fish_seen_subcommand_from \(command.name)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func fishLines(program: String, condition: String?) -> [String] {
        let start = "complete -c \(program)" + (condition.map { " -n \($0.fishQuoted)" } ?? "")
        var lines = rows.map { row in
            var line = start + (row.short.map { " -s \($0)" } ?? "") + " -l \(row.name)"
            if case .required = row.value { line += row.completion == .files ? " -r" : " -x" }
            line += row.completion.fishArguments
            return line + " -d \(row.help.fishQuoted)"
        }
        if let operand = operands.first, operand.completion != .nothing {
            lines.append(start + operand.completion.fishArguments)
        }
        return lines
    }
}

extension ValueCompletion {
    fileprivate var fishArguments: String {
        switch self {
        case .nothing: ""
        // -F offers files in spite of the program-wide -f.
        case .files: " -F"
        case .words(let words): " -a \(words.joined(separator: " ").fishQuoted)"
        }
    }
}

extension String {
    fileprivate var fishQuoted: String {
        "'" + replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
