import HTTP
import Options
import Reactor
import TLS
import Terminal
import WebSocket

/// How a line is meant: wscat's colours.
enum Tone: String {
    case incoming = "\u{1B}[34m"
    case control = "\u{1B}[32m"
    case error = "\u{1B}[33m"
}

/// How what happens is shown: plain lines into a pipe, JSON, or a terminal with a prompt below.
final class Screen {
    enum Form {
        case pipe, json
        /// - Parameter marksMessages: false with `-x`, whose messages stand alone.
        case terminal(marksMessages: Bool)
    }

    let form: Form
    private let output: Output
    private let colorsOutput: Bool
    private let colorsNotices: Bool
    /// The line being typed, while there is a prompt.
    var editor: LineEditor?

    init(_ form: Form, output: Output, colorsOutput: Bool, colorsNotices: Bool) {
        self.form = form
        self.output = output
        self.colorsOutput = colorsOutput
        self.colorsNotices = colorsNotices
    }

    // MARK: What comes

    func show(_ kind: MessageKind, _ payload: [UInt8]) {
        switch form {
        case .pipe: output.write(payload + [0x0A], to: .standardOutput)
        case .json:
            var line = JSONLine(type: "message", milliseconds: WallClock.milliseconds)
            line.add(payload: payload, isText: kind == .text, base64: Base64.encode)
            show(line)
        case .terminal(let marksMessages):
            let text = kind == .text ? String(decoding: payload, as: UTF8.self).printable : Self.hexadecimal(payload)
            line((marksMessages ? "< " : "") + text, marksMessages ? .incoming : nil, to: .standardOutput)
        }
    }

    /// Something else that happens; only `--json` shows all of it.
    func show(_ line: JSONLine) {
        if case .json = form { output.write(Array(line.line.utf8), to: .standardOutput) }
    }

    /// `-P`: a ping or a pong has come.
    func showControl(_ name: String, _ payload: [UInt8]) {
        let text = "received \(name) (data: \"\(String(decoding: payload, as: UTF8.self).printable)\")"
        if case .terminal = form {
            line("< " + text, .incoming, to: .standardOutput)
        } else {
            notice(text, .incoming)
        }
    }

    /// A line for the person; anything of a peer in it is made printable by the caller.
    func notice(_ text: String, _ tone: Tone) { line(text, tone, to: .standardError) }

    private func line(_ text: String, _ tone: Tone?, to stream: Output.Stream) {
        let colors = stream == .standardOutput ? colorsOutput : colorsNotices
        let colored = if let tone, colors { tone.rawValue + text + "\u{1B}[39m" } else { text }
        clearPrompt()
        output.write(Array((colored + "\n").utf8), to: stream)
        drawPrompt()
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    // MARK: The prompt

    func drawPrompt() {
        guard let editor else { return }
        output.write(Array(editor.rendered(columns: TerminalMode.columns).utf8), to: .standardOutput)
    }

    func clearPrompt() {
        if editor != nil { output.write(Array("\r\u{1B}[K".utf8), to: .standardOutput) }
    }

    /// Leaves what was typed where it stands and begins a new line.
    func keepLine(_ text: String) {
        clearPrompt()
        output.write(Array(((editor?.prompt ?? "") + text.printable + "\n").utf8), to: .standardOutput)
    }

    func clearScreen() { output.write(Array("\u{1B}[H\u{1B}[2J".utf8), to: .standardOutput) }

    /// Takes the prompt away, for the last notices.
    func removePrompt() {
        clearPrompt()
        editor = nil
    }
}

@available(*, unavailable) extension Screen: Sendable {}
