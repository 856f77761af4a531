import HTTP
import LiveClientReactor
import Options
import Reactor
import TLS
import WebSocket

extension Cat: PersistentConnectionOwner {
    func connectionPrepares(_ url: WebSocketURL, isSameOrigin: Bool) {
        // Pages are as large as the server likes, so the next one waits until standard output is read.
        if settings.connection.form == .document, output.isFull, !isEnding {
            owesRequest = (url, isSameOrigin)
            return
        }
        requestedAt = loop.now
        do throws(StartProblem) {
            connection.proceed(try settings.shown(isSameOrigin: isSameOrigin), since: reading.cursor)
        } catch {
            screen.notice("error: \(error.text)", .error)
            finish(error.status)
        }
    }

    func connectionOpened(_ opening: Opening) {
        wasOpened = true
        renewalPace = RenewalPace()
        var line = JSONLine(type: "open", milliseconds: WallClock.milliseconds)
        if let subprotocol = opening.subprotocol { line.add("subprotocol", subprotocol.withoutToken) }
        screen.show(line)
        if !screen.isTerse { screen.notice("connected (press CTRL+C to quit)", .control) }
        beginPrompt()
        for text in settings.execute { send(settings.isBinary ? .binary : .text, Array(text.utf8)) }
        if let milliseconds = settings.waitMilliseconds {
            waitTimer = loop.schedule(afterMilliseconds: milliseconds) { self.endByItself() }
        }
        sendLines()
    }

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) {
        // The end does not wait for a reader that stalls.
        if isEnding && output.isFull { return }
        perform(reading.take(kind, payload))
        if output.isFull && !isEnding { connection.pauseReading() }
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

    /// With two decimals, as in the output of `ping`.
    static func milliseconds(_ duration: Duration) -> String {
        let hundredths = Int((duration / .microseconds(10)).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    func connectionDrained() { sendLines() }

    func connectionRedirected(to url: WebSocketURL) {
        screen.notice("redirected to \(url.withoutTicket.description.printable)", .control)
    }

    func connectionRemains(_ problem: RedirectPath.Problem) {
        guard case .carriesTicket = problem else { return }
        screen.notice("error: redirect not followed: it would give the ticket to another server", .error)
    }

    func connectionEnded(_ ending: ConnectionEnding, retryMilliseconds: UInt64?) {
        if let waitTimer { loop.cancel(waitTimer) }
        waitTimer = nil
        if let timer = renewalTimer.take() { loop.cancel(timer) }
        if wasOpened || !ending.isBeforeOpening { showClose(ending) }
        if !(output.isClosed || isEnding && ending == .aborted) {
            for (text, tone) in ending.notices(isOwn: isEnding, isTerse: screen.isTerse) { screen.notice(text, tone) }
        }
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
}
