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

    /// Sets `options` and `operands`, or answers at once when `prev` is an option that takes a value.
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
