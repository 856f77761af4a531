@_exported public import LiveState

/// A stream of what changes in an account, which the client keeps alive. It reconnects after every loss, with the wait that the
/// server asks for, and resumes at its last position. It asks for a new token before the old one ends, and finds out which
/// transports work on a network.
///
///     let client = try LiveClient(LiveClientConfiguration(url: "wss://live.example/live/v1")) {
///         try await session.accessToken()
///     }
///     for try await update in client.updates {
///         switch update {
///         case .resync: await model.reload()
///         case .event(let event): await model.reload(event.entity, event.id)
///         case .live: model.isLive = true
///         case .disconnected(let reason, let retry): model.isLive = false
///         case .connected, .beat, .source, .read: break
///         }
///         if let cursor = update.cursor { model.keep(cursor) }
///     }
///
/// The client connects when the first reader of ``updates`` begins, and closes the connection when the last one has ended. The
/// client itself ends with ``close()``, or when the app has released both the client and its updates.
public actor LiveClient {
    nonisolated let handle: LiveHandle
    /// The gate of the API that the app asks about events. Machines use it; screens and actions receive it (<doc:Errors>).
    public nonisolated let gate: LiveGate
    /// The entities whose events it delivers; empty means all.
    nonisolated let entities: [String]

    /// The client's tokens. Machines, screens and actions use them too.
    public nonisolated var tokens: LiveTokens { handle.parts.tokens }

    /// Makes a client. It sends nothing yet.
    ///
    /// - Parameter token: returns the bearer token for the next attempt. The client calls it for each attempt, one call at a
    ///   time, and 60 to 90 seconds before the token of a stream ends. The question names the token that was refused or ends. The
    ///   client sends a new token and continues the stream. If it gets the same token or an error, it asks a few times more. The
    ///   stream then goes on until its token ends, and the client reconnects. An error before an attempt is reported as
    ///   ``LiveUpdate/disconnected(reason:retry:)`` and tried again, except for ``LiveClientError/unauthorized``.
    /// - Throws: an error for an address or files that cannot be used.
    public init(
        _ configuration: LiveClientConfiguration, token: @escaping @Sendable (TokenQuestion) async throws -> String
    ) throws(LiveClientError) {
        handle = try LiveHandle(configuration, token)
        gate = LiveGate(onError: configuration.onError)
        entities = configuration.entities
    }

    /// Makes a client for an app whose token function knows by itself when a token is no longer valid.
    ///
    /// - Parameter token: as in ``init(_:token:)``, but it does not learn which token was refused.
    /// - Throws: an error for an address or files that cannot be used.
    public init(
        _ configuration: LiveClientConfiguration, token: @escaping @Sendable () async throws -> String
    ) throws(LiveClientError) {
        try self.init(configuration) { (_: TokenQuestion) in try await token() }
    }

    /// What happens, in order. Each iteration is a separate reader. Throws a ``LiveClientError`` if reconnecting would not help.
    public nonisolated var updates: LiveUpdates { LiveUpdates(handle) }

    /// The state of the connection. Its times are milliseconds since 1970 by a clock that never goes back.
    public nonisolated var state: ConnectionState { handle.states.state }

    /// The current ``state``, then each later state until the end. A follower that does not read loses the oldest beyond 16.
    public nonisolated var states: AsyncStream<ConnectionState> { handle.states.follow() }

    /// The app is in the background: closes the connection and makes no attempts, but keeps its position.
    public nonisolated func enterBackground() { handle.perform { $0.setForeground(false) } }

    /// The app is in the foreground again: reconnects at once.
    public nonisolated func enterForeground() { handle.perform { $0.setForeground(true) } }

    /// The path to the network has changed. Call it from `NWPathMonitor` or a similar source.
    ///
    /// - Parameters:
    ///   - isSatisfied: whether there is a network. Without one the client makes no attempts; it tries at once when one returns.
    ///   - network: a name for the network, such as that of the WLAN. The client remembers under it which transports work there.
    public nonisolated func pathChanged(isSatisfied: Bool, network: String? = nil) {
        handle.perform { $0.handle(.path(isSatisfied: isSatisfied, network: network)) }
    }

    /// A person wants to see what is new. The client makes a waiting attempt at once, and tests an open stream with a ping that
    /// the server has to answer within 2 seconds. Machines call it by themselves (``LiveMachine/refresh()``).
    public nonisolated func refresh() { handle.perform { $0.handle(.refresh) } }

    /// Ends the connection for good. ``updates`` end after the updates that they already hold.
    public func close() { handle.perform { $0.handle(.stop) } }

    // MARK: For the machines

    /// Returns one page of what came after a cursor. Without a cursor it returns no events and a fresh cursor.
    ///
    /// - Parameter upTo: a cursor from another node, such as the `at` of a `changed` signal. The server answers when its node has
    ///   read that far, or after 2 s. In the second case the page has `more`.
    /// - Throws: `RequestError`, with its `Retry-After`, for what the server refused; ``ConnectionEnd`` for what it would refuse
    ///   again.
    package nonisolated func sync(
        since: LiveCursor?, upTo: LiveCursor? = nil, limit: Int? = nil
    ) async throws -> SyncAnswer {
        func ask(_ token: String) async throws -> ServerAnswer {
            var request = handle.parts.request.asking(.document, since: since, waitMilliseconds: 0, token: token)
            if let upTo { request.url = request.url.setting([("upto", upTo.text)]) }
            if let limit { request.url = request.url.setting([("limit", "\(limit)")]) }
            return try await handle.ask(request)
        }
        let token = try await tokens.ask()
        let answer: ServerAnswer
        do {
            answer = try await ask(token)
        } catch let error as RequestError where error.status == 401 {
            answer = try await ask(tokens.ask(fresh: true, replacing: token))
        }
        if let sync = SyncAnswer(answer) { return sync }
        if let end = ConnectionEnd(answer) { throw end }
        throw RequestError(answer)
    }
}

/// The updates of a ``LiveClient``.
///
/// Each iterator is a separate reader and gets every update from its creation on. One that joins an open stream first gets
/// ``LiveUpdate/connected`` and ``LiveUpdate/resync(_:_:)``, with the cursor of the stream's position. Then it gets
/// ``LiveUpdate/live(_:)`` and ``LiveUpdate/source(_:)``, if the stream has reported them. A reader that joins after others while
/// there is no stream gets the resync too, because the client does not deliver again what the others have read.
///
/// A busy reader pauses the stream once ``LiveClientConfiguration/maximumBufferedUpdates`` updates wait for it. The server then
/// waits too, and at last closes the stream. If there are other readers, it pauses them for five seconds at most. Then the client
/// drops what waits for the busy reader, which gets ``LiveResync/behind``.
public struct LiveUpdates: AsyncSequence, Sendable {
    /// An update of the stream.
    public typealias Element = LiveUpdate

    /// Returns the updates one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: LiveReader

        /// Waits for the next update; nil means the end.
        public mutating func next() async throws -> LiveUpdate? { try await reader.next() }
    }

    private let handle: LiveHandle

    init(_ handle: LiveHandle) { self.handle = handle }

    /// Begins to read as a separate reader.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: handle.join()) }
}
