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
