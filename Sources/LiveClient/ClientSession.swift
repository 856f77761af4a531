import LiveState

/// A client on its loop. It carries out what ``ConnectionMachine`` decides, and turns what arrives into updates for its readers.
final class ClientSession {
    /// The parts that a session is made of.
    struct Parts: Sendable {
        /// The base of the request for each stream and document.
        var request: StreamRequest
        var machine: ConnectionMachine.Settings
        var network: any ClientNetwork
        var cursor: LiveCursor?
        var keepsWays: (@Sendable ([KnownWay]) -> Void)?
        var tokens: LiveTokens
    }

    let loop: any ClientLoop
    let parts: Parts
    let states: StateBroadcast
    var machine: ConnectionMachine
    var readers = LiveReaders()
    /// The stream or request, with the number that the machine gave it.
    var channel: (id: Int, channel: any LiveChannel)?
    /// The newest cursor that was delivered, where the next stream resumes. It changes only after its update is in the buffers.
    var cursor: LiveCursor?
    /// Why something ended, for the app's log.
    var reason: String?
    /// Why the client ends.
    var failure: LiveClientError?
    /// The number of the channel whose opening the readers know.
    var announced: Int?
    /// Whether the stream, or a series of polls, has reached what happens now.
    var isLive = false
    /// The last report of the stream about its source of events, while the source is stalled.
    var stalled: LiveSource?
    /// Why the client made a poll without a cursor.
    var lostCursor: LiveResync?
    /// The reason that a stream sent before its end.
    var goodbye: ChannelEnding?
    var aliveAt: Milliseconds = 0
    /// A poll whose answer waits for readers that are busy.
    var heldPoll: (id: Int, more: Bool)?
    /// True while readers are busy.
    var isPaused = false
    var busyTimer: LoopTimer?
    /// The app's tokens: the current question, the last token received, and the last token sent to the server.
    private var tokenRequest: Int?
    private var tokenTask: Task<Void, Never>?
    private var candidate: String?
    private var usedToken: String?
    private var isForeground = true
    private var isWanted = true
    private var isStarted = false
    private var isLetGo = false
    /// The number of streams that are being closed.
    private var closing = 0
    private var timer: LoopTimer?
    private var inputs: [ConnectionMachine.Input] = []
    private var isHandling = false
    /// The time of day at the loop's zero. The machine's clock stays comparable between runs, but never goes back within one run.
    private let epoch: Milliseconds

    init(_ parts: Parts, states: StateBroadcast) {
        loop = parts.network.loop
        self.parts = parts
        self.states = states
        cursor = parts.cursor
        machine = ConnectionMachine(parts.machine)
        epoch = AppClock.timeOfDay - Milliseconds(loop.now)
    }

    var now: Milliseconds { epoch + Milliseconds(loop.now) }

    // MARK: The app

    /// The connection is wanted while there is a reader and the app is in the foreground.
    func updateWish() {
        let isWanted = isForeground && !readers.isEmpty
        if isWanted, !isStarted {
            isStarted = true
            handle(.start)
        } else if isWanted, machine.view.state == .unauthorized {
            handle(.start)
        }
        guard isWanted != self.isWanted, isStarted else { return }
        self.isWanted = isWanted
        handle(isWanted ? .foreground : .background)
    }

    func setForeground(_ isForeground: Bool) {
        self.isForeground = isForeground
        updateWish()
    }

    /// Ends the session, and also the loop once the server has been informed.
    func letGo() {
        isLetGo = true
        handle(.stop)
        stopLoop()
    }

    private func stopLoop() {
        guard isLetGo, closing == 0 else { return }
        tokenTask?.cancel()
        timer.take()?.cancel()
        loop.end()
    }

    // MARK: The machine

    /// Passes an input to the machine and carries out its effects. Inputs that an effect causes at once wait for their turn.
    func handle(_ input: ConnectionMachine.Input) {
        inputs.append(input)
        guard !isHandling else { return }
        isHandling = true
        while !inputs.isEmpty {
            let input = inputs.removeFirst()
            let before = machine.view.state
            let now = now
            for effect in machine.handle(input, at: now) { perform(effect) }
            follow(before, now)
        }
        isHandling = false
        schedule()
    }

    private func schedule() {
        timer.take()?.cancel()
        guard let wakeAt = machine.wakeAt else { return }
        timer = loop.wait(milliseconds: UInt64(max(wakeAt - now, 0))) { [weak self] in
            self?.timer = nil
            self?.wake()
        }
    }

    private func wake() {
        // While the client does not read, it cannot miss a sign of life.
        if isPaused, heldPoll == nil, let channel { handle(.alive(id: channel.id)) }
        guard heldPoll == nil else { return }
        handle(.wake)
    }

    private func perform(_ effect: ConnectionMachine.Effect) {
        switch effect {
        case .fetchToken(let request, let fresh): fetchToken(request, fresh)
        case .open(let id, let way):
            usedToken = candidate ?? usedToken
            open(id, way == .webSocket ? .webSocket : .eventStream, wait: 0)
        case .poll(let id, let wait):
            usedToken = candidate ?? usedToken
            open(id, .document, wait: wait)
        case .close(let id): drop(id, withWord: true)
        case .abandon(let id): drop(id, withWord: false)
        case .ping(let id): if channel?.id == id { channel?.channel.ping() }
        case .sendToken(let id):
            guard channel?.id == id, let token = candidate, let message = NextToken.message(token) else { return }
            usedToken = candidate
            channel?.channel.send(message)
        case .remember(let known): parts.keepsWays?(known)
        }
    }

    private func open(_ id: Int, _ form: StreamForm, wait: Milliseconds) {
        guard let token = usedToken else { preconditionFailure("a stream is opened with a token") }
        let request = parts.request.asking(form, since: cursor, waitMilliseconds: wait, token: token)
        goodbye = nil
        let opened = parts.network.open(request) { [weak self] event in self?.receive(id, event) }
        channel = (id, opened)
    }

    private func drop(_ id: Int, withWord: Bool) {
        if heldPoll?.id == id { heldPoll = nil }
        guard let channel, channel.id == id else { return }
        self.channel = nil
        closing += 1
        channel.channel.end(withWord: withWord) {
            self.closing -= 1
            self.stopLoop()
        }
    }

    // MARK: Tokens

    private struct TokenFailure: Error {
        let text: String
        let isUnauthorized: Bool
    }

    /// Cancels an earlier question.
    private func fetchToken(_ request: Int, _ isFresh: Bool) {
        let (bound, tokens, refused) = (Confined(self, loop: loop), parts.tokens, isFresh ? usedToken : nil)
        tokenTask?.cancel()
        tokenRequest = request
        tokenTask = Task {
            let result: Result<String, TokenFailure>
            do {
                result = .success(try await tokens.ask(fresh: isFresh, replacing: refused))
            } catch {
                let isUnauthorized = RequestFailure(error) == .unauthorized
                result = .failure(TokenFailure(text: "\(error)", isUnauthorized: isUnauthorized))
            }
            bound.loop.execute { bound.value.receiveToken(request, result) }
        }
    }

    private func receiveToken(_ request: Int, _ result: Result<String, TokenFailure>) {
        guard tokenRequest == request else { return }
        switch result {
        case .success(let token):
            let isSame = usedToken == token
            candidate = token
            if isSame { reason = "no token: what is at hand is still the last one" }
            handle(.token(request: request, isSame: isSame))
        case .failure(let failure):
            reason = "no token: " + failure.text
            handle(.tokenFailed(request: request, isUnauthorized: failure.isUnauthorized))
        }
    }

    // MARK: What the readers see

    private func follow(_ before: ConnectionState, _ now: Milliseconds) {
        let after = machine.view.state
        guard after != before else { return }
        states.send(after)
        switch after {
        case .connected: announce()
        case .unauthorized:
            readers.finish(.unauthorized)
            failure = nil
            updateWish()
        case .ended(let error):
            readers.finish(failure ?? LiveClientError(error))
            states.finish()
        case .idle, .connecting, .waiting: reportLoss(before, after, now)
        }
    }

    private func reportLoss(_ before: ConnectionState, _ after: ConnectionState, _ now: Milliseconds) {
        switch before {
        case .connected: break
        case .connecting: if reason == nil { return }
        case .idle, .waiting, .unauthorized, .ended: return
        }
        var retry = Duration.zero
        if case .waiting(let until?, _) = after { retry = .milliseconds(until - now) }
        let why = after == .idle ? "not wanted now" : "given up for another connection"
        push(.disconnected(reason: reason.take() ?? why, retry: retry))
    }
}

@available(*, unavailable) extension ClientSession: Sendable {}
