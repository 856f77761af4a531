import HTTP
import LiveClient
import Options
import Reactor
import TLS
import WebSocket

extension Cat: PersistentConnectionOwner {
    func connectionPrepares(_ url: WebSocketURL, isSameOrigin: Bool) {
        // Pages are as large as the server likes: the next one waits for whoever reads.
        if settings.connection.form == .document, output.isFull, !isEnding {
            owesRequest = (url, isSameOrigin)
            return
        }
        requestedAt = loop.now
        guard isSameOrigin else { return connection.proceed(headers: [], host: nil, since: cursor) }
        var headers = settings.credentials
        if let path = settings.tokenFile {
            do throws(StartProblem) {
                headers.append(("Authorization", "Bearer " + (try TokenFile.token(path))))
            } catch {
                if case .unreadable(let text) = error { screen.notice("error: \(text)", .error) }
                return finish(.noInput)
            }
        }
        connection.proceed(headers: headers, host: settings.host, since: cursor)
    }

    func connectionOpened(_ opening: Opening) {
        wasOpened = true
        renewalPace = RenewalPace()
        var line = JSONLine(type: "open", milliseconds: WallClock.milliseconds)
        if let subprotocol = opening.subprotocol { line.add("subprotocol", subprotocol) }
        screen.show(line)
        if !isTerse { screen.notice("connected (press CTRL+C to quit)", .control) }
        beginPrompt()
        for text in settings.execute { connection.send(settings.isBinary ? .binary : .text, Array(text.utf8)) }
        if let milliseconds = settings.waitMilliseconds {
            waitTimer = loop.schedule(afterMilliseconds: milliseconds) { self.endByItself() }
        }
        sendLines()
    }

    /// With `-x` on a terminal the messages stand alone, as wscat has it.
    private var isTerse: Bool {
        if case .terminal(marksMessages: false) = screen.form { true } else { false }
    }

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) {
        if let count = settings.count, received >= count { return }
        // The end does not wait for a reader that stalls.
        if isEnding && output.isFull { return }
        switch kind {
        case .text where settings.hasCursors: receive(streamed: payload)
        case .text where settings.verifies:
            if case .event(let event) = StreamMessage(payload) { verify(event) }
            print(kind, payload)
        default: print(kind, payload)
        }
        if received == settings.count { return endByItself() }
        if output.isFull && !isEnding { connection.pauseReading() }
    }

    /// Shows a message and counts it.
    func print(_ kind: MessageKind, _ payload: [UInt8]) {
        received += 1
        screen.show(kind, payload)
    }

    func connectionReceivedPing(_ payload: [UInt8]) {
        report("ping", payload, roundTrip: nil)
    }

    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {
        report("pong", payload, roundTrip: roundTrip)
        guard let roundTrip else { return }
        screen.notice("pong after \(Self.milliseconds(roundTrip)) ms", .control)
    }

    private func report(_ name: String, _ payload: [UInt8], roundTrip: Duration?) {
        var line = JSONLine(type: name, milliseconds: WallClock.milliseconds)
        line.add(payload: payload, isText: true, base64: Base64.encode)
        if let roundTrip { line.add("round_trip_us", Int(roundTrip / .microseconds(1))) }
        screen.show(line)
        if settings.showsPingPong { screen.showControl(name, payload) }
    }

    /// With two decimals, as `ping` has it.
    static func milliseconds(_ duration: Duration) -> String {
        let hundredths = Int((duration / .microseconds(10)).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    func connectionDrained() { sendLines() }

    func connectionRedirected(to url: WebSocketURL) {
        screen.notice("redirected to \(url.description.printable)", .control)
    }

    func connectionEnded(_ ending: ConnectionEnding, retryMilliseconds: UInt64?) {
        if let waitTimer { loop.cancel(waitTimer) }
        waitTimer = nil
        if let timer = renewalTimer.take() { loop.cancel(timer) }
        if wasOpened || !ending.isBeforeOpening { showClose(ending) }
        if !(output.isClosed || isEnding && ending == .aborted) { report(ending) }
        if let retryMilliseconds {
            return screen.notice("reconnecting in \(Self.seconds(retryMilliseconds)) s", .control)
        }
        finish(isEnding ? .success : ending.status)
    }

    /// With one decimal.
    private static func seconds(_ milliseconds: UInt64) -> String {
        "\((milliseconds + 50) / 1000).\((milliseconds + 50) % 1000 / 100)"
    }

    private func showClose(_ ending: ConnectionEnding) {
        guard let (code, reason) = ending.closeCodeAndReason else { return }
        var line = JSONLine(type: "close", milliseconds: WallClock.milliseconds)
        line.add("code", Int(code.rawValue))
        line.add("reason", reason)
        screen.show(line)
    }

    private func report(_ ending: ConnectionEnding) {
        if case .closed(let code, let reason) = ending {
            if isTerse && ending.status == .success { return }
            let tone: Tone = ending.status == .success || isEnding ? .control : .error
            return screen.notice("disconnected (code: \(code.rawValue), reason: \"\(reason.printable)\")", tone)
        }
        for line in ending.explanation { screen.notice(line, .error) }
    }
}
