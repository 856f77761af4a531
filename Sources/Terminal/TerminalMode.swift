import CLinux
import CTerminal
import Glibc

/// What the terminal itself does with typed input.
package struct TerminalMode: Sendable {
    private let saved: termios

    /// The present mode; nil where standard input is not a terminal.
    package init?() {
        var mode = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        saved = mode
    }

    /// Keys arrive one by one and are not shown. The signals of Ctrl-C and Ctrl-Z stay, and so does the end of lines.
    package func enterRaw() {
        var mode = saved
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        mode.c_iflag &= ~tcflag_t(IXON)
        set(mode)
    }

    /// Typed input is not shown.
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

    /// The width of the terminal on standard output; 80, the old standard, where it is unknown.
    package static var columns: Int {
        let columns = Int(terminal_columns(STDOUT_FILENO))
        return columns > 0 ? columns : 80
    }

    /// The height of the terminal; 24 lines, the old standard, where it is unknown.
    package static var rows: Int {
        let rows = Int(terminal_rows(STDOUT_FILENO))
        return rows > 0 ? rows : 24
    }

    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Asks for a secret that is not shown; nil where there is no terminal.
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

/// Standard input, read where nothing else has to be done meanwhile.
package enum InputBytes {
    /// Waits for bytes. Nil: the input was closed or failed. The corresponding C function is `read`.
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
