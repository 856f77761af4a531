/// The request of a command line.
package enum Invocation: Sendable {
    case run(Arguments)
    /// Text for standard output, status 0: help, version, manual page, completions.
    case print(String)
}

extension Command {
    /// Reads the words after the program's name.
    ///
    /// Options may be between operands, and `--` ends them. A long name may be shortened while it is unambiguous. `--help` and
    /// `--version` count even if something required is missing.
    /// - Throws: the first mistake.
    package func parse(_ words: [String]) throws(CommandLineProblem) -> Invocation {
        do throws(WrongUse) {
            guard !commands.isEmpty else { return try parseOptions(words, path: [name]) }
            switch try parseOptions(words, path: [name]) {
            case .print(let text): return .print(text)
            case .run(let arguments): return try parseCommand(arguments.operands)
            }
        } catch {
            throw CommandLineProblem(program: name, wrongUse: error)
        }
    }

    private func parseCommand(_ words: [String]) throws(WrongUse) -> Invocation {
        let names = commands.map(\.name)
        guard let word = words.first else { throw .missingCommand(among: names) }
        guard let command = commands.first(where: { $0.name == word }) else {
            // Some programs have a command for help; here it is an option.
            let options = [Self.help.row.name, Self.version.row.name]
            let nearest = NearestName.nearest(to: word, among: names + options) ?? ""
            throw .unknownCommand(word, nearest: names.contains(nearest) ? nearest : "--" + nearest)
        }
        return try command.parseOptions(Array(words.dropFirst()), path: [name, word])
    }

    private func parseOptions(_ words: [String], path: [String]) throws(WrongUse) -> Invocation {
        let parser = OptionParser(rows: rows, arguments: words, stopsAtOperand: !commands.isEmpty)
        let ending = [Self.help.row.name, Self.version.row.name, Self.manual.row.name, Self.completion.row.name]
        var arguments = try parser.read { row in
            ending.contains(row.name) && (documentsItself || row.name == "help" || row.name == "version")
        }
        if arguments[Self.help] { return .print(helpText(path: path)) }
        if arguments[Self.version] { return .print("\(path[0]) \(Release.version)\n") }
        if documentsItself {
            if arguments[Self.manual] { return .print(manualPage()) }
            if let shell = arguments[Self.completion].flatMap(Shell.init) { return .print(completions(for: shell)) }
        }
        arguments.path = Array(path.dropFirst())
        if let missing = options.first(where: { row in
            row.row.isRequired && !arguments.occurrences.contains { $0.name == row.row.name }
        }) {
            throw .missingOption("--\(missing.row.name) \(missing.row.placeholder)")
        }
        if commands.isEmpty { try checkOperands(arguments.operands) }
        return .run(arguments)
    }

    private func checkOperands(_ words: [String]) throws(WrongUse) {
        for (operand, word) in zip(operands, words) {
            guard case .words(let choices) = operand.completion, !choices.contains(word) else { continue }
            throw .badOperand(
                name: operand.name, value: word, problem: "is not one of \(choices.joined(separator: ", "))",
                nearest: NearestName.nearest(to: word, among: choices))
        }
        if words.count > operands.count { throw .unexpectedOperand(wordShown(words[operands.count])) }
        if let missing = operands.dropFirst(words.count).first(where: \.isRequired) {
            throw .missingOperand(missing.name)
        }
    }
}

/// The line that reports a wrong command line.
package struct CommandLineProblem: Error, Equatable, CustomStringConvertible {
    package let program: String
    package let wrongUse: WrongUse

    package init(program: String, wrongUse: WrongUse) {
        self.program = program
        self.wrongUse = wrongUse
    }

    package var description: String { "\(program): \(wrongUse)" }
}
