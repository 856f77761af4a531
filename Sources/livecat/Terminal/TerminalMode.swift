import CLinux
import Glibc

/// What the terminal does by itself with what is typed.
struct TerminalMode {
    private let saved: termios

    /// The mode as it is; nil where standard input is no terminal.
    init?() {
        var mode = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        saved = mode
    }

    /// Keys come one by one and are not shown; signals of Ctrl-C and Ctrl-Z stay, and so does the end of lines.
    func enterRaw() {
        var mode = saved
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        mode.c_iflag &= ~tcflag_t(IXON)
        set(mode)
    }

    /// Nothing that is typed is shown.
    func hideInput() {
        var mode = saved
        mode.c_lflag &= ~tcflag_t(ECHO)
        set(mode)
    }

    func restore() { set(saved) }

    private func set(_ mode: termios) {
        var mode = mode
        _ = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &mode)
    }

    /// The width of the terminal on standard output; what does not say is as wide as all used to be.
    static var columns: Int {
        let columns = Int(terminal_columns(STDOUT_FILENO))
        return columns > 0 ? columns : 80
    }

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Asks for a word that is not shown; nil where there is no terminal.
    static func askSecret(_ prompt: String) -> String? {
        guard let mode = TerminalMode() else { return nil }
        mode.hideInput()
        defer { mode.restore() }
        _ = unsafe write(STDERR_FILENO, prompt, prompt.utf8.count)
        let line = readLine()
        _ = unsafe write(STDERR_FILENO, "\n", 1)
        return line
    }
}
