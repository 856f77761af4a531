import Archive
import HTTP
import LiveUpdates
import Reactor
import Tokens

/// A request to the archive: read with its body, asked off the loop, and answered when the answer comes.
extension Connection {
    /// Waits for the archive.
    final class Asking {
        enum State {
            case begun
            /// A part of the mark's body is still to come.
            case body(MarkReader)
            /// The archive (`ArchiveRequests`) has the question.
            case store
            /// Ingest makes the cursor of this answer.
            case cursor(ArchiveBody)
        }

        /// A mark's body is not whole.
        var awaitsBody: Bool { if case .body = state { true } else { false } }
        /// Who the client is, by the token that let it in.
        let identity: Identity
        let request: ArchiveRequest
        var state: State
        var keepsAlive: Bool
        /// Bytes that followed the request's head and were not read as its body.
        var early: EarlyBytes
        /// Of the body, then of the answer.
        var deadline: Timer?
        /// Of the connection's first request.
        var permit: ConnectionPermit?
        var catchUp: PageCatchUp
        /// When the page is asked for once more.
        var repetition: Timer?

        init(
            _ identity: Identity, _ request: ArchiveRequest, _ state: State, _ catchUp: PageCatchUp,
            keepsAlive: Bool, early: EarlyBytes, _ permit: consuming ConnectionPermit?
        ) {
            self.identity = identity
            self.request = request
            self.state = state
            self.catchUp = catchUp
            self.keepsAlive = keepsAlive
            self.early = early
            self.permit = permit
        }
    }
}

extension Connection {
    /// Begins with a request that was admitted.
    func askArchive(
        _ request: ArchiveRequest, _ identity: Identity, _ head: RequestHead, _ early: EarlyBytes,
        _ permit: consuming ConnectionPermit?
    ) {
        let isMark = request == .mark
        let asking = Asking(
            identity, request, isMark ? .body(MarkReader(head.body)) : .begun,
            PageCatchUp(pauses: loop.admission.archive?.catchUpPauses ?? []),
            keepsAlive: keepsAlive(behind: head, hasReadBody: isMark), early: early, permit)
        phase = .asking(asking)
        // While it waits its end should be noticed.
        if early.count <= EarlyBytes.maximumBytes { transport?.resumeReading() }
        guard isMark else { return ask(asking) }
        // From here on the body has the time of a head.
        asking.deadline = schedule(.deadline, afterMilliseconds: loop.policy.handshakeTimeoutMilliseconds)
        if early.count == 0, head.version == .http11, head.headers.containsToken("100-continue", in: "expect") {
            transport?.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        readMark(asking)
    }

    /// Bytes of a mark's body, or bytes that follow the request.
    func receive(_ bytes: Span<UInt8>, _ asking: Asking) {
        asking.early.append(bytes)
        if asking.early.count > EarlyBytes.maximumBytes { transport?.pauseReading() }
        readMark(asking)
    }

    private func readMark(_ asking: Asking) {
        guard case .body(var reader) = asking.state else { return }
        asking.state = .begun
        do throws(Refusal) {
            guard let bytes = try reader.read(&asking.early) else {
                asking.state = .body(reader)
                if peerHasFinished { finish(writing: []) }
                return
            }
            ask(asking, try MarkBody.read(bytes))
        } catch {
            refuse(error, isStorable: false)
        }
    }

    // MARK: - Asking

    /// From here on it is answered within its time.
    private func ask(_ asking: Asking, _ body: MarkBody? = nil) {
        cancel(&asking.deadline)
        guard let policy = loop.admission.archive else { return refuse(Refusal(.notReady), isStorable: false) }
        asking.deadline = schedule(.deadline, afterMilliseconds: policy.answerMilliseconds)
        if let body {
            let now = WallClock.milliseconds
            let mark = ReadMark(
                account: asking.identity.account, person: asking.identity.subject ?? "", thing: body.thing,
                upTo: body.upTo, now: now,
                mustBeStored: body.upTo.stamp > now + policy.maximumTimestampDelayMilliseconds)
            return ask(asking, .mark(mark))
        }
        askForPage(asking)
    }

    private func askForPage(_ asking: Asking) {
        let account = asking.identity.account
        switch asking.request {
        case .page(let parameters): ask(asking, .page(parameters.query(account)))
        case .inbox(let parameters):
            ask(asking, .inbox(parameters.query(account, asking.identity.subject ?? "")))
        case .mark: preconditionFailure("a mark is asked with its body")
        }
    }

    /// The store has had time to come on.
    func askAgain(_ asking: Asking) {
        asking.repetition = nil
        askForPage(asking)
    }

    private func ask(_ asking: Asking, _ wish: ArchiveQuestion.Wish) {
        guard let archive = loop.archive else { return refuse(Refusal(.notReady), isStorable: false) }
        asking.state = .store
        archive.ask(
            ArchiveQuestion(wish: wish, account: asking.identity.account, loop: loop.index, connection: id))
    }

    // MARK: - Answering

    func archiveAnswered(_ reply: ArchiveReply) {
        guard case .asking(let asking) = phase, case .store = asking.state else { return }
        asking.state = .begun
        let (keepsAlive, early) = (asking.keepsAlive, asking.early)
        switch reply {
        case .body(let body):
            guard let positions = body.positions else { return answer(asking, ArchiveAnswer.bytes(body)) }
            asking.state = .cursor(body)
            let subscriber = Subscriber(account: asking.identity.account, loop: loop.index, connection: id)
            loop.ingest.post(
                .snapshotCursor(subscriber, ArchiveSnapshot(positions: positions, seen: asking.catchUp.seen)))
        case .marked:
            let head = ArchiveAnswer.empty(date: loop.httpDate(), keepsAlive: keepsAlive, fields: answerFields)
            answer(head, keepsAlive: keepsAlive, early, of: asking.identity)
        case .tooManyMarks:
            refuse(
                Refusal(.tooMany, "There are too many read marks of things without an event."), isStorable: false)
        case .unknownEvent:
            refuse(
                Refusal(
                    .badRequest, "The body's aid is no event's, and stamped too far after this server's clock."),
                isStorable: false)
        case .overloaded where !asking.catchUp.hasPage: refuse(Refusal(.overloaded), isStorable: false)
        case .notReady, .overloaded: goOn(asking, asking.catchUp.end())
        }
    }

    /// Ingest has made the cursor of what the store has answered, or cannot.
    ///
    /// A client that has just received an event live expects it in the page, though the store needs a moment for it. Such a page
    /// is read again. What the store has after that is still right, with its own cursor.
    func archiveAnswered(_ answer: SnapshotAnswer) {
        guard case .asking(let asking) = phase, case .cursor(let body) = asking.state else { return }
        asking.state = .begun
        goOn(asking, asking.catchUp.came(body, answer))
    }

    private func goOn(_ asking: Asking, _ step: PageCatchUp.Step) {
        switch step {
        case .again(let pause): asking.repetition = schedule(.wake, afterMilliseconds: pause)
        case .answer(let body, let cursor): answer(asking, ArchiveAnswer.bytes(body, at: cursor))
        case .refuse: refuse(Refusal(.notReady, "The archive does not answer, or is behind."), isStorable: false)
        }
    }

    private func answer(_ asking: Asking, _ body: [UInt8]) {
        let (keepsAlive, early) = (asking.keepsAlive, asking.early)
        let head = SyncAnswer.head(of: body, date: loop.httpDate(), keepsAlive: keepsAlive, fields: answerFields)
        answer(head, body, keepsAlive: keepsAlive, early, of: asking.identity)
    }

    /// Neither the body nor the answer came in time, or not the last one.
    func archiveTimedOut(_ asking: Asking) {
        if case .body = asking.state { return refuse(Refusal(.timeout), isStorable: false) }
        goOn(asking, asking.catchUp.end())
    }

    /// Ends the phase.
    func endAsking(_ asking: Asking) {
        cancel(&asking.deadline)
        cancel(&asking.repetition)
        leave(&asking.permit, nil)
        if case .store = asking.state { loop.archive?.withdraw(loop: loop.index, id) }
    }
}
