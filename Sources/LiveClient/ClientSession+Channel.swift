import CloseCodes
import HTTP
import LiveState

/// Handles what arrives from the network.
extension ClientSession {
    /// The pause between two signs of life that are reported to the machine, which waits 35 s for one.
    private static let signPause: Milliseconds = 1_000

    func receive(_ id: Int, _ event: ChannelEvent) {
        guard channel?.id == id else { return }
        switch event {
        case .opened:
            aliveAt = now
            // Readers that were busy before are still busy on the next stream.
            if isPaused { channel?.channel.pauseReading() }
            handle(.opened(id: id))
        case .alive: noteSign(id)
        case .message(let bytes):
            noteSign(id)
            deliver(StreamMessage(bytes), id)
        case .ended(let ending):
            channel = nil
            end(id, ending)
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

    private func end(_ id: Int, _ ending: ChannelEnding) {
        var ending = ending
        // The stream sent the reason of its end, but was cut before its close arrived.
        if case .lost(.cut, _) = ending, let goodbye { ending = goodbye }
        reason = ending.summary
        switch ending {
        case .answered(let answer): receiveAnswer(id, answer)
        case .refused(let answer): refuse(id, answer)
        case .closed(.noStatus, _): handle(.lost(id: id, how: .cut))
        // A server that ends a stream sends a `bye` before it closes. 1000 alone comes from a proxy.
        case .closed(.normal, _) where goodbye == nil: handle(.lost(id: id, how: .cut))
        case .closed(let code, let reason):
            if code == .revoked { failure = .revoked(reason: reason) }
            let retry = CloseCode.retryMilliseconds(inReason: reason).map(Milliseconds.init)
            handle(.closed(id: id, code: Int(code.rawValue), retry: retry))
        case .lost(let how, _): handle(.lost(id: id, how: how))
        case .invalid(let why):
            failure = .invalidRequest(why)
            handle(.stop)
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

    /// The cursor moves with the page before the client asks for the next one.
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
            // What the app fetches has to be newer than the cursor it resumes from: get the cursor first, then report the resync.
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

    /// Reports to the readers that a stream is open, once.
    func announce(_ id: Int? = nil) {
        guard let id = id ?? channel?.id, announced != id else { return }
        announced = id
        isLive = false
        stalled = nil
        push(.connected)
        // Without a cursor to resume from, something may have been missed. Everything from here on is delivered. A poll brings a
        // cursor first.
        if cursor == nil, channel != nil { push(.resync(.start, nil)) }
    }
}
