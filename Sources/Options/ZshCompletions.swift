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
