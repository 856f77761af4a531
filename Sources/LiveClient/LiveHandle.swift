import Locks

/// What client and updates share: the loop, and the session on it. It ends the session when all of them have released it.
final class LiveHandle: Sendable {
    /// Holds the session once it exists. Only the loop writes and reads it.
    private final class Slot: Sendable {
        let session = Lock<Confined<ClientSession>?>(nil)
    }

    let states = StateBroadcast()
    let parts: ClientSession.Parts
    private let loop: any ClientLoop
    private let maximumUpdates: Int
    private let lastReader = Lock(0)
    private let slot = Slot()

    init(
        _ configuration: LiveClientConfiguration, _ token: @escaping LiveTokens.Give
    ) throws(LiveClientError) {
        let request = try configuration.request()
        let trust = TransportTrust(isSecure: request.url.isSecure, authorities: configuration.certificateAuthorities)
        parts = ClientSession.Parts(
            request: request, machine: configuration.machine(),
            network: try configuration.transport.begin(trust), cursor: configuration.cursor,
            keepsWays: configuration.keepsWays,
            tokens: LiveTokens(token, onError: configuration.onError))
        maximumUpdates = max(1, configuration.maximumBufferedUpdates)
        loop = parts.network.loop
        let (parts, states, loop, slot) = (parts, states, loop, slot)
        loop.execute {
            let session = ClientSession(parts, states: states)
            slot.session.withLock { $0 = Confined(session, loop: loop) }
        }
    }

    deinit {
        let slot = slot
        loop.execute { slot.session.withLock { $0.take() }?.value.letGo() }
    }

    /// Runs work with the session, on its loop, after what was asked for before.
    func perform(_ work: @escaping @Sendable (ClientSession) -> Void) {
        let slot = slot
        loop.execute {
            if let session = slot.session.withLock({ $0 })?.value { work(session) }
        }
    }

    /// Adds a reader. It begins after this cursor if the stream can begin there.
    func join(from start: LiveCursor? = nil) -> LiveReader {
        let number = lastReader.withLock { last in
            last += 1
            return last
        }
        let buffer = UpdateBuffer(maximumUpdates: maximumUpdates)
        perform { $0.join(number, buffer, from: start) }
        return LiveReader(handle: self, number: number, buffer: buffer)
    }

    func leave(_ number: Int) { perform { $0.leave(number) } }

    /// Makes one request for a document, with its own token.
    func ask(_ request: StreamRequest) async throws -> ServerAnswer {
        let network = parts.network
        let ending: ChannelEnding = await withCheckedContinuation { continuation in
            perform { _ in
                // The channel keeps itself alive until it has ended.
                _ = network.open(request) { event in
                    if case .ended(let ending) = event { continuation.resume(returning: ending) }
                }
            }
        }
        switch ending {
        case .answered(let answer): return answer
        case .refused(let answer):
            throw RequestError(answer)
        default: throw LiveClientError.unreachable(ending.summary)
        }
    }
}

/// A reader. The updates that wait for it are dropped with it.
final class LiveReader: Sendable {
    private let handle: LiveHandle
    private let number: Int
    private let buffer: UpdateBuffer

    init(handle: LiveHandle, number: Int, buffer: UpdateBuffer) {
        self.handle = handle
        self.number = number
        self.buffer = buffer
    }

    deinit { handle.leave(number) }

    func next() async throws -> LiveUpdate? {
        try await withTaskCancellationHandler {
            try await buffer.next()
        } onCancel: {
            buffer.finish(nil)
            handle.leave(number)
        }
    }
}
