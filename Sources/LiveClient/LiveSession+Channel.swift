import HTTP
import LiveState
import Reactor
import WebSocket

/// What comes from the network.
extension LiveSession {
    /// Between two signs of life that the machine is given: it asks for one in 35 s.
    private static let signPause: Milliseconds = 1_000

    func receive(_ id: Int, _ event: ChannelEvent) {
        guard channel?.id == id else { return }
        switch event {
        case .opened:
            aliveAt = now
            // Readers that were busy before are so on the next stream too.
            if isPaused { channel?.channel.pauseReading() }
            handle(.opened(id: id))
        case .alive: noteSign(id)
        case .message(let bytes):
            noteSign(id)
            deliver(StreamMessage(bytes), id)
        case .ended(let ending, let wasReached):
            channel = nil
            end(id, ending, wasReached)
        }
    }

    private func noteSign(_ id: Int) {
        guard machine.view.isTested || now - aliveAt >= Self.signPause else { return }
        aliveAt = now
        handle(.alive(id: id))
    }

    private func deliver(_ message: StreamMessage, _ id: Int) {
        switch message {
        case .event(let event): push(.event(event))
        case .live(let cursor):
            isLive = true
            push(.live(cursor))
        case .beat(let cursor): push(.beat(cursor))
        case .resync(let why, let cursor):
            isLive = false
            push(.resync(why, cursor))
        case .source(let source):
            if case .stalled = source { stalled = source } else { stalled = nil }
            push(.source(source))
        case .read(let mark): push(.read(mark))
        case .expiring: handle(.expiring(id: id))
        case .bye(let code, let why, let retry):
            goodbye = .closed(code, reason: code.reason(why: why, retryMilliseconds: retry))
        case .token, .changed, .unknownControl, .other: break
        }
    }

    // MARK: Endings

    private func end(_ id: Int, _ ending: ConnectionEnding, _ wasReached: Bool) {
        var ending = ending
        // A stream that said why it ends, and was cut before its close came.
        if case .cut = ending, let goodbye { ending = goodbye }
        reason = ending.summary
        switch ending {
        case .answered(let answer): receiveAnswer(id, answer)
        case .refused(let answer): refuse(id, answer)
        case .closed(.noStatus, _): handle(.lost(id: id, how: .cut))
        case .closed(let code, let reason):
            if code == .revoked { failure = .revoked(reason: reason) }
            let retry = CloseCode.retryMilliseconds(inReason: reason).map(Milliseconds.init)
            handle(.closed(id: id, code: Int(code.rawValue), retry: retry))
        case .notConnected(let failure): lose(id, failure, wasReached)
        case .broken: handle(.lost(id: id, how: .broken))
        case .cut, .closeUnanswered, .aborted: handle(.lost(id: id, how: .cut))
        case .noPong: handle(.lost(id: id, how: .silent))
        }
    }

    private func lose(_ id: Int, _ failure: ConnectFailure, _ wasReached: Bool) {
        switch failure {
        case .badRequest, .secureProxyForSecureServer, .unsupported:
            self.failure = .invalidRequest(failure.description)
            handle(.stop)
        case .network, .tls, .proxyRefused, .proxyFault, .credentials: handle(.lost(id: id, how: .unreachable))
        case .deadline: handle(.lost(id: id, how: wasReached ? .silent : .unreachable))
        case .cut: handle(.lost(id: id, how: .cut))
        case .badAnswer: handle(.lost(id: id, how: .broken))
        case .badUpgrade, .badExtensions: handle(.lost(id: id, how: .blocked))
        }
    }

    private func refuse(_ id: Int, _ answer: ServerAnswer) {
        failure = .refused(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
        let input = ConnectionMachine.Input.refused(
            id: id, status: answer.status, code: answer.problemCode,
            retryAfter: answer.retryAfterMilliseconds.map(Milliseconds.init))
        handle(input)
        switch machine.view.state {
        case .ended, .unauthorized: break
        case .idle, .connecting, .connected, .waiting: failure = nil
        }
    }

    // MARK: Polls

    /// The cursor moves with the page before the next is asked for.
    private func receiveAnswer(_ id: Int, _ answer: ServerAnswer) {
        switch SyncAnswer(answer) {
        case .page(let lines, let at, let more)?:
            announce(id)
            if cursor == nil { push(.resync(lostCursor.take() ?? .start, at)) }
            for line in lines { push(.event(line.event)) }
            cursor = at
            if !more {
                push(isLive ? .beat(at) : .live(at))
                isLive = true
            }
            answered(id, more: more)
        case .resync(let why, let at)?:
            announce(id)
            isLive = false
            push(.resync(why, at))
            answered(id, more: true)
        case nil:
            guard answer.status == 400, answer.problemCode == "bad_cursor", cursor != nil else {
                return refuse(id, answer)
            }
            announce(id)
            // What the app fetches has to be newer than the cursor it goes on from: first the cursor, then the word.
            cursor = nil
            lostCursor = .invalid
            isLive = false
            handle(.polled(id: id, more: true))
        }
    }

    private func answered(_ id: Int, more: Bool) {
        if !more, machine.view.way == .polling { reason = "polled; the next is due" }
        if isPaused { heldPoll = (id, more) } else { handle(.polled(id: id, more: more)) }
    }

    /// Tells the readers that a stream is open, once.
    func announce(_ id: Int? = nil) {
        guard let id = id ?? channel?.id, announced != id else { return }
        announced = id
        isLive = false
        stalled = nil
        push(.connected)
        // Without a cursor to go on from, something may have been missed; everything from here on is delivered. A
        // poll brings a cursor first.
        if cursor == nil, channel != nil { push(.resync(.start, nil)) }
    }
}

extension ServerAnswer {
    /// `code` of a problem document (RFC 9457); nil where it was no Livegate that answered.
    var problemCode: String? { problem("code") }

    /// `detail` of a problem document, for a log.
    var problemDetail: String? { problem("detail") }

    private func problem(_ member: String) -> String? {
        JSONNode(body, maximumBytes: 1 << 16)?.text(member)
    }
}

extension ConnectionSettings {
    /// How often an event stream that is silent says so, in seconds: as often as a server takes it.
    private var beatSeconds: UInt64 { min(max(((pingMilliseconds ?? 25_000) + 999) / 1_000, 5), 300) }

    /// The settings of one attempt.
    func asking(_ form: StreamForm, since: LiveCursor?, waitMilliseconds: Milliseconds, token: String) -> Self {
        var settings = self
        settings.form = form
        var parameters: [(name: String, value: String)] = []
        switch form {
        case .webSocket: break
        case .eventStream: parameters.append(("beat", "\(beatSeconds)"))
        case .document:
            settings.url = url.replacing(pathSuffix: "/live/v1", with: "/sync/v1")
            if waitMilliseconds > 0 { parameters.append(("wait", "\((waitMilliseconds + 999) / 1000)")) }
            settings.limits.patienceMilliseconds = UInt64(waitMilliseconds)
        }
        if let since { parameters.append(("since", since.text)) }
        settings.url = settings.url.setting(parameters)
        settings.headers.append(("Authorization", "Bearer " + token))
        return settings
    }
}

extension ConnectionEnding {
    /// For an application's log; what a peer wrote stands in it as it came.
    var summary: String {
        switch self {
        case .notConnected(let failure): failure.description
        case .refused(let answer), .answered(let answer): "the server refused with status \(answer.status)"
        case .closed(let code, let reason): "the server closed with code \(code.rawValue): \(reason)"
        case .broken(let error): error.description
        case .cut(let how): how
        case .closeUnanswered: "no answer to the close"
        case .noPong: "no pong in time"
        case .aborted: "dropped"
        }
    }
}
