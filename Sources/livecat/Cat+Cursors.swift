import LiveClientReactor

/// What livecat does with the data of a Livegate: it shows it, stores the cursor, and sends the stream another token.
extension Cat {
    func perform(_ steps: [CatReading.Step]) {
        for step in steps {
            switch step {
            case .message(let kind, let payload): screen.show(kind, payload)
            case .control(let payload): screen.show(.text, payload)
            case .notice(let text, let tone): screen.notice(text, tone)
            case .reached(let cursor): if settings.cursorFile != nil { output.keep(cursor.text) }
            case .renewToken: renewToken()
            case .enough: endByItself()
            }
        }
    }

    func connectionReached(_ cursor: LiveCursor) { perform(reading.reach(cursor)) }

    func connectionAnswered(_ answer: ServerAnswer) -> AfterAnswer {
        let (steps, next) = reading.take(answer, afterMilliseconds: loop.now - requestedAt)
        perform(steps)
        return next
    }

    /// How often the file is read while it contains the token that is about to end.
    private static let tokenFileMilliseconds: UInt64 = 1_000

    /// Sends the token in the file, once it differs from that of the stream. A server that a redirect led to never receives it,
    /// whatever it sends.
    private func renewToken() {
        guard let path = settings.tokenFile, connection.isOpen, connection.isSameOrigin,
            settings.connection.form == .webSocket
        else { return }
        if let timer = renewalTimer.take() { loop.cancel(timer) }
        // A file that cannot be read now may be about to be written; a new connection would report the error.
        let wait = renewalPace.wait(now: loop.now)
        if wait == 0, let token = try? TokenFile.token(path), connection.renew(token: token) {
            renewalPace.sent(now: loop.now)
            return screen.notice("sent the next token", .control)
        }
        renewalTimer = loop.schedule(afterMilliseconds: max(wait, Self.tokenFileMilliseconds)) {
            self.renewalTimer = nil
            self.renewToken()
        }
    }
}
