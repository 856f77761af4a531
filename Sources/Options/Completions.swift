/// The shells for which there are completions.
package enum Shell: String, CaseIterable, Sendable {
    case bash, zsh, fish
}

extension Command {
    /// A script that the shell reads to complete this program's command lines.
    package func completions(for shell: Shell) -> String {
        switch shell {
        case .bash: bashCompletions()
        case .zsh: zshCompletions()
        case .fish: fishCompletions()
        }
    }

    /// The function's name in bash and zsh.
    var completionFunction: String { "_" + name.replacing("-", with: "_") }
}

extension String {
    /// In single quotes, as bash and zsh read them.
    var shellQuoted: String { "'" + replacing("'", with: "'\\''") + "'" }
}

extension Command {
    func bashCompletions() -> String {
        var text = """
            # bash completion for \(name)
            \(completionFunction)() {
                local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= options= operands= word
                COMPREPLY=()
                # Readline breaks words at =, so that --name=VALUE comes as three.
                if [[ $cur == = ]]; then
                    cur=
                elif [[ $prev == = ]]; then
                    prev=${COMP_WORDS[COMP_CWORD-2]}
                fi

            """
        if commands.isEmpty {
            text += bashCase(indent: "    ")
        } else {
            text += """
                    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
                        case $word in
                            \(commands.map(\.name).joined(separator: "|"))) command=$word; break ;;
                        esac
                    done
                    case $command in

                """
            for command in commands {
                text += "        \(command.name))\n" + command.bashCase(indent: "            ") + "            ;;\n"
            }
            text += "        *)\n            options=\(bashOptions)\n"
            text += "            operands=\(commands.map(\.name).joined(separator: " ").shellQuoted)\n"
            text += "            ;;\n    esac\n"
        }
        text += """
                if [[ $cur == -* ]]; then
                    COMPREPLY=($(compgen -W "$options" -- "$cur"))
                elif [[ $operands == @files ]]; then
                    compopt -o filenames
                    COMPREPLY=($(compgen -f -- "$cur"))
                else
                    COMPREPLY=($(compgen -W "$operands" -- "$cur"))
                fi
            }
            complete -F \(completionFunction) \(name)

            """
        return text
    }

    private var bashOptions: String { rows.map { "--" + $0.name }.joined(separator: " ").shellQuoted }

    /// Sets `options` and `operands`, or answers at once if `prev` is an option that requires a value.
    private func bashCase(indent: String) -> String {
        var lines = ["case $prev in"]
        for row in rows {
            guard case .required = row.value else { continue }
            let names = (row.short.map { "-\($0)|" } ?? "") + "--" + row.name
            let answer =
                switch row.completion {
                case .nothing: "return"
                case .files: "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\")); return"
                case .words(let words):
                    "COMPREPLY=($(compgen -W \(words.joined(separator: " ").shellQuoted) -- \"$cur\")); return"
                }
            lines.append("    \(names)) \(answer) ;;")
        }
        lines.append("esac")
        if lines.count == 2 { lines = [] }
        lines.append("options=\(bashOptions)")
        switch operands.first?.completion {
        case .words(let words): lines.append("operands=\(words.joined(separator: " ").shellQuoted)")
        case .files: lines.append("operands=@files")
        case .nothing, nil: break
        }
        return lines.map { indent + $0 + "\n" }.joined()
    }
}

extension Command {
    func zshCompletions() -> String {
        var text = "#compdef \(name)\n\n\(completionFunction)() {\n"
        if commands.isEmpty {
            text += zshArguments(indent: "    ")
        } else {
            text += "    local context state state_descr line\n    typeset -A opt_args\n"
            text += "    _arguments -C \\\n"
            for row in rows { text += row.zshSpecifications.map { "        \($0) \\\n" }.joined() }
            text += "        '1:command:->command' \\\n        '*::argument:->argument'\n"
            text += "    case $state in\n    command)\n        local -a commands=(\n"
            for command in commands {
                text += "            " + "\(command.name):\(command.summary)".shellQuoted + "\n"
            }
            text +=
                "        )\n        _describe command commands\n        ;;\n    argument)\n        case $words[1] in\n"
            for command in commands {
                text += "        \(command.name))\n" + command.zshArguments(indent: "            ")
                text += "            ;;\n"
            }
            text += "        esac\n        ;;\n    esac\n"
        }
        // The file is either sourced, or found by zsh in its `fpath` and then run as the function itself.
        return text + """
            }

            if [[ $funcstack[1] == \(completionFunction) ]]; then
                \(completionFunction) "$@"
            else
                compdef \(completionFunction) \(name)
            fi

            """
    }

    private func zshArguments(indent: String) -> String {
        var specifications = rows.flatMap(\.zshSpecifications)
        for (index, operand) in operands.enumerated() {
            let optional = operand.isRequired ? ":" : "::"
            specifications.append("\(index + 1)\(optional)\(operand.name):\(operand.completion.zshAction)".shellQuoted)
        }
        return indent + "_arguments -s -S \\\n"
            + specifications.map { indent + "    " + $0 }.joined(separator: " \\\n") + "\n"
    }
}

extension OptionRow {
    /// One word for `_arguments` per name: `'--config=[the settings]:FILE:_files'`.
    fileprivate var zshSpecifications: [String] {
        let explanation = "[" + help.zshEscaped.replacing("[", with: "\\[").replacing("]", with: "\\]") + "]"
        let names = (short.map { ["-\($0)"] } ?? []) + ["--" + name]
        // Of the two names of an option one is enough, unless it can be repeated.
        let excluded = isRepeatable ? "*" : names.count > 1 ? "(" + names.joined(separator: " ") + ")" : ""
        return names.map { name in
            let isLong = name.hasPrefix("--")
            let tail =
                switch value {
                case .none: explanation
                case .required:
                    (isLong ? "=" : "+") + explanation + ":\(placeholder.zshEscaped):\(completion.zshAction)"
                case .optional:
                    (isLong ? "=-" : "-") + explanation + "::\(placeholder.zshEscaped):\(completion.zshAction)"
                }
            return (excluded + name + tail).shellQuoted
        }
    }
}

extension ValueCompletion {
    fileprivate var zshAction: String {
        switch self {
        case .nothing: " "
        case .files: "_files"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }
}

extension String {
    fileprivate var zshEscaped: String { replacing("\\", with: "\\\\").replacing(":", with: "\\:") }
}

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
