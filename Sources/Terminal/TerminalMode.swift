import CLinux
import CTerminal
import Glibc

/// What the terminal does by itself with what is typed.
package struct TerminalMode: Sendable {
    private let saved: termios

    /// The mode as it is; nil where standard input is no terminal.
    package init?() {
        var mode = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        saved = mode
    }

    /// Keys come one by one and are not shown; signals of Ctrl-C and Ctrl-Z stay, and so does the end of lines.
    package func enterRaw() {
        var mode = saved
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        mode.c_iflag &= ~tcflag_t(IXON)
        set(mode)
    }

    /// Nothing that is typed is shown.
    package func hideInput() {
        var mode = saved
        mode.c_lflag &= ~tcflag_t(ECHO)
        set(mode)
    }

    package func restore() { set(saved) }

    private func set(_ mode: termios) {
        var mode = mode
        _ = unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &mode)
    }

    /// The width of the terminal on standard output; what does not say is as wide as all used to be.
    package static var columns: Int {
        let columns = Int(terminal_columns(STDOUT_FILENO))
        return columns > 0 ? columns : 80
    }

    /// Its height; what does not say has as many lines as all used to have.
    package static var rows: Int {
        let rows = Int(terminal_rows(STDOUT_FILENO))
        return rows > 0 ? rows : 24
    }

    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Asks for a word that is not shown; nil where there is no terminal.
    package static func askSecret(_ prompt: String) -> String? {
        guard let mode = TerminalMode() else { return nil }
        mode.hideInput()
        defer { mode.restore() }
        _ = unsafe write(STDERR_FILENO, prompt, prompt.utf8.count)
        let line = readLine()
        _ = unsafe write(STDERR_FILENO, "\n", 1)
        return line
    }
}

/// Standard input, read where nothing else is to be done meanwhile.
package enum InputBytes {
    /// Waits for bytes; nil: an input that is closed or fails has ended. The corresponding C function is `read`.
    package static func read(maximumBytes: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        while true {
            let count = unsafe Glibc.read(STDIN_FILENO, &bytes, bytes.count)
            let failure = errno
            if count > 0 { return Array(bytes[..<count]) }
            if count == 0 { return nil }
            if failure == EAGAIN {
                var wait = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&wait, 1, -1)
            } else if failure != EINTR {
                return nil
            }
        }
    }
}
