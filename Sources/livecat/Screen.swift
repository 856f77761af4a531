import HTTP
import Options
import Reactor
import TLS
import Terminal
import WebSocket

/// The kind of a line, with the colours of wscat.
enum Tone: String {
    case incoming = "\u{1B}[34m"
    case control = "\u{1B}[32m"
    case error = "\u{1B}[33m"
}

/// Shows what happens: as plain lines into a pipe, as JSON, or on a terminal with a prompt below.
final class Screen {
    enum Form: Equatable {
        case pipe, json
        /// - Parameter marksMessages: false with `-x`, which shows messages without a mark.
        case terminal(marksMessages: Bool)
    }

    let appearance: Appearance
    /// The width of the terminal.
    private let columns: () -> Int
    private let write: (_ bytes: [UInt8], _ stream: Output.Stream) -> Void
    /// The line being typed, while there is a prompt.
    var editor: LineEditor?

    init(
        _ appearance: Appearance, columns: @escaping () -> Int = { TerminalMode.columns },
        write: @escaping (_ bytes: [UInt8], _ stream: Output.Stream) -> Void
    ) {
        self.appearance = appearance
        self.columns = columns
        self.write = write
    }

    /// Whether only messages are shown, as in wscat with `-x` on a terminal.
    var isTerse: Bool { appearance.form == .terminal(marksMessages: false) }

    // MARK: What comes

    func show(_ kind: MessageKind, _ payload: [UInt8]) {
        switch appearance.form {
        case .pipe: write(payload + [0x0A], .standardOutput)
        case .json:
            var line = JSONLine(type: "message", milliseconds: WallClock.milliseconds)
            line.add(payload: payload, isText: kind == .text, base64: Base64.encode)
            show(line)
        case .terminal(let marksMessages):
            let text = kind == .text ? String(decoding: payload, as: UTF8.self).printable : Self.hexadecimal(payload)
            line((marksMessages ? "< " : "") + text, marksMessages ? .incoming : nil, to: .standardOutput)
        }
    }

    /// Shows any other event; only `--json` shows all of them.
    func show(_ line: JSONLine) {
        if appearance.form == .json { write(Array(line.line.utf8), .standardOutput) }
    }

    /// `-P`: a ping or a pong has arrived.
    func showControl(_ name: String, _ payload: [UInt8]) {
        let text = "received \(name) (data: \"\(String(decoding: payload, as: UTF8.self).printable)\")"
        if case .terminal = appearance.form {
            line("< " + text, .incoming, to: .standardOutput)
        } else {
            notice(text, .incoming)
        }
    }

    /// A line for the user. The caller makes everything from a peer printable.
    func notice(_ text: String, _ tone: Tone) { line(text, tone, to: .standardError) }

    private func line(_ text: String, _ tone: Tone?, to stream: Output.Stream) {
        let colors = stream == .standardOutput ? appearance.colorsOutput : appearance.colorsNotices
        let colored = if let tone, colors { tone.rawValue + text + "\u{1B}[39m" } else { text }
        clearPrompt()
        write(Array((colored + "\n").utf8), stream)
        drawPrompt()
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    // MARK: The prompt

    func drawPrompt() {
        guard let editor else { return }
        write(Array(editor.rendered(columns: columns()).utf8), .standardOutput)
    }

    func clearPrompt() {
        if editor != nil { write(Array("\r\u{1B}[K".utf8), .standardOutput) }
    }

    /// Leaves the typed line on the screen and begins a new one.
    func keepLine(_ text: String) {
        clearPrompt()
        write(Array(((editor?.prompt ?? "") + text.printable + "\n").utf8), .standardOutput)
    }

    func clearScreen() { write(Array("\u{1B}[H\u{1B}[2J".utf8), .standardOutput) }

    /// Removes the prompt, for the last notices.
    func removePrompt() {
        clearPrompt()
        editor = nil
    }
}

@available(*, unavailable) extension Screen: Sendable {}
