import HTTP
import LiveClientReactor
import Options
import Terminal
import WebSocket

extension Cat {
    /// Reads on, as long as the connection keeps up. A terminal is always read.
    func requestInput() {
        guard !isEnding, settings.connection.form == .webSocket, connection.isOpen || screen.editor != nil else {
            return
        }
        guard screen.editor != nil || (lines.isEmpty && connection.pendingBytes < Self.maximumPendingBytes) else {
            return
        }
        input.request()
    }

    func take(_ piece: [UInt8]?) {
        guard let piece else { return inputEnded() }
        if screen.editor != nil {
            type(piece)
        } else {
            let result = splitter.split(piece)
            lines += result.lines
            if result.isTooLong { inputTooLong() }
        }
        sendLines()
    }

    private func inputTooLong() {
        screen.notice("error: a line of standard input is over \(splitter.maximumLineBytes) bytes", .error)
        inputProblem = .noInput
        closesAfterLines = true
    }

    private func inputEnded() {
        if let last = splitter.end() { lines.append(last) }
        // Ctrl-D on a terminal means the end.
        if inputIsTerminal || !settings.outlivesInput(hadInput: !splitter.isEmpty) { closesAfterLines = true }
        sendLines()
    }

    func sendLines() {
        while !lines.isEmpty, connection.isOpen, connection.pendingBytes < Self.maximumPendingBytes {
            send(line: lines.removeFirst())
        }
        if closesAfterLines && lines.isEmpty { endByItself() }
        requestInput()
    }

    private func send(line: [UInt8]) {
        if settings.isBinary { return send(.binary, line) }
        var line = line[...]
        if line.last == 0x0D { line = line.dropLast() }
        send(text: String(decoding: line, as: UTF8.self))
    }

    func send(text: String) {
        guard settings.readsSlashCommands, text.utf8.first == UInt8(ascii: "/") else {
            return send(.text, Array(text.utf8))
        }
        do throws(SlashCommand.Problem) {
            switch try SlashCommand(text) {
            case .ping(let payload): connection.ping(Array(payload.utf8))
            case .pong(let payload): connection.pong(Array(payload.utf8))
            case .close(let code, let reason): endByItself(CloseCode(rawValue: code), reason: reason)
            }
        } catch {
            screen.notice("error: \(error.text)", .error)
        }
    }

    /// Sends a message. A message with a token is sent only to the server that the user named.
    func send(_ kind: MessageKind, _ payload: [UInt8]) {
        if connection.keepsBack(payload) {
            return screen.notice("error: not sent: a token is for the server that was named alone", .error)
        }
        connection.send(kind, payload)
    }

    // MARK: The prompt

    func beginPrompt() {
        guard let terminal, screen.editor == nil else { return }
        terminal.enterRaw()
        screen.editor = LineEditor(prompt: "> ")
        screen.drawPrompt()
    }

    private func type(_ bytes: [UInt8]) {
        for event in screen.editor?.type(bytes) ?? [] {
            switch event {
            case .line(let text):
                screen.keepLine(text)
                if connection.isOpen {
                    send(text: text)
                } else {
                    screen.notice("error: not connected", .error)
                }
            case .interrupt: interrupted()
            case .endOfInput: endByItself()
            case .clearScreen: screen.clearScreen()
            }
        }
        screen.drawPrompt()
    }
}
