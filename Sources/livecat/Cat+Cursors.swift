import HTTP
import LiveClient
import Options

/// What livecat knows of Livegate's protocol: cursors, control messages, pages of `/sync/v1`.
extension Cat {
    /// Shows a message of a stream with cursors: events go where messages go, control messages are notices.
    func receive(streamed payload: [UInt8]) {
        let message = StreamMessage(payload)
        if case .event(let event) = message { verify(event) }
        if let notice = message.notice {
            if case .resync = message { verification?.resync() }
            if settings.isJSON { screen.show(.text, payload) } else { screen.notice(notice, message.tone) }
        } else {
            print(.text, payload)
        }
        if let cursor = message.cursor { reach(cursor) }
        if case .expiring = message { renewToken() }
    }

    /// How often the file is read while it holds the token that is about to end.
    private static let tokenFileMilliseconds: UInt64 = 1_000

    /// Sends the token that the file holds now, once it is another one than the stream has.
    private func renewToken() {
        guard let path = settings.tokenFile, connection.isOpen, settings.connection.form == .webSocket else { return }
        if let timer = renewalTimer.take() { loop.cancel(timer) }
        // What cannot be read now may be about to be written; a new connection would say so.
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

    func connectionReached(_ cursor: LiveCursor) { reach(cursor) }

    /// Everything up to here was shown.
    private func reach(_ cursor: LiveCursor) {
        self.cursor = cursor
        if settings.cursorFile != nil { output.keep(cursor.text) }
    }

    func verify(_ event: LiveEvent) {
        if let gap = verification?.take(event) { screen.notice(gap.printable, .error) }
    }

    // MARK: /sync/v1

    /// Between requests that a server should not have answered at once.
    private static let minimumPauseMilliseconds: UInt64 = 1000

    func connectionAnswered(_ answer: ServerAnswer) -> AfterAnswer {
        if settings.document != .sync { return receive(document: answer) }
        switch SyncAnswer(answer) {
        case .page(let lines, let at, let more):
            resyncsInARow = 0
            for line in lines {
                verify(line.event)
                print(.text, line.json)
                if let cursor = line.event.cursor { reach(cursor) }
                if received == settings.count { return .done }
            }
            reach(at)
            if more { return .again(afterMilliseconds: 0) }
            guard settings.syncWaitSeconds != nil else { return .done }
            // An empty page comes after the wait; one that comes at once is no reason to ask without a pause.
            let isEarly = lines.isEmpty && loop.now - requestedAt < Self.minimumPauseMilliseconds
            return .again(afterMilliseconds: isEarly ? Self.minimumPauseMilliseconds : 0)
        case .resync(let why, let at):
            verification?.resync()
            let message = StreamMessage.resync(why, at)
            if settings.isJSON {
                let text = "{\"resync\":{\"why\":\"\(why.why)\",\"at\":\"\(at.text)\"}}"
                screen.show(.text, Array(text.utf8))
            } else {
                screen.notice(message.notice ?? "", message.tone)
            }
            reach(at)
            resyncsInARow += 1
            return .again(afterMilliseconds: resyncsInARow == 1 ? 0 : Self.minimumPauseMilliseconds)
        case nil: return .refused
        }
    }
}

extension StreamMessage {
    /// What a person reads of a control message; nil for messages proper.
    var notice: String? {
        switch self {
        case .event, .changed, .other: nil
        case .live: "live: everything before was told"
        case .beat: "beat: nothing new"
        case .resync(let why, _): "resync (\(why.why.printable)): what was missed cannot be given"
        case .source(.stalled(let since)): "source stalled" + Self.time(" since ", since)
        case .source(.live(let since)): "source live again" + Self.time(" since ", since)
        case .bye(let code, let why, let retry):
            "bye (code: \(code.rawValue), reason: \"\(why.printable)\"" + (retry.map { ", retry_ms: \($0)" } ?? "")
                + ")"
        case .expiring(let end): "expiring: the token ends" + Self.time(" at ", end.map { $0.clampedMilliseconds })
        case .token(let end): "the next token is taken" + Self.time(", it ends at ", end.map { $0.clampedMilliseconds })
        case .read(let mark):
            "read: " + (mark.thing.map { "\($0.entity) \($0.id)" } ?? "everything").printable
                + " up to \(mark.upTo.text.printable)"
        case .unknownControl: "a control message that this version does not know"
        }
    }

    var tone: Tone {
        switch self {
        case .resync, .source(.stalled), .bye: .error
        default: .control
        }
    }

    static func time(_ before: String, _ milliseconds: Int64?) -> String {
        // What is beyond the year 9999 is no time of a broker.
        guard let milliseconds, (0..<253_402_300_800_000).contains(milliseconds) else { return "" }
        return before + InternetDate.text(millisecondsSince1970: milliseconds)
    }
}

extension Int64 {
    /// Seconds as milliseconds; what is too large is no time.
    fileprivate var clampedMilliseconds: Int64 { multipliedReportingOverflow(by: 1000).overflow ? -1 : self * 1000 }
}
