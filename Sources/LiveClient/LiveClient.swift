@_exported public import LiveState

/// A stream of what changes in an account, kept alive: it connects, comes back after every loss as the server asks,
/// goes on where it was, asks for a new token before the old one ends, and finds out which way works on a network.
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
/// Connecting begins with the first reader of ``updates``, and the connection is closed when the last has gone. It
/// ends with ``close()``, or when client and updates are let go.
public actor LiveClient {
    nonisolated let handle: LiveHandle
    /// Of the API that the app asks about what happens: its machines pass it, and what is given it (<doc:Errors>).
    public nonisolated let gate: LiveGate
    /// What it delivers events of; empty: all.
    nonisolated let entities: [String]

    /// Its tokens, which machines, screens and actions get from the app too.
    public nonisolated var tokens: LiveTokens { handle.parts.tokens }

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameter token: gives the bearer token for the next attempt; asked anew for each, one at a time, and 60 to 90
    ///   seconds before the token of a stream ends. The question says which token was refused or ends. A new one is
    ///   sent, and the stream goes on with it; with the same one, or an error, it is asked again a few times, and the
    ///   stream goes on until its token ends, and comes back. An error before an attempt is reported as
    ///   ``LiveUpdate/disconnected(reason:retry:)`` and tried again, but for ``LiveClientError/unauthorized``.
    /// - Throws: an address or files that cannot be used.
    public init(
        _ configuration: LiveClientConfiguration, token: @escaping @Sendable (TokenQuestion) async throws -> String
    ) throws(LiveClientError) {
        handle = try LiveHandle(configuration, token)
        gate = LiveGate(onError: configuration.onError)
        entities = configuration.entities
    }

    /// Makes a client of an app whose function knows by itself when a token is of no use any more.
    ///
    /// - Parameter token: as of ``init(_:token:)``, but it is not told which token was refused.
    /// - Throws: an address or files that cannot be used.
    public init(
        _ configuration: LiveClientConfiguration, token: @escaping @Sendable () async throws -> String
    ) throws(LiveClientError) {
        try self.init(configuration) { (_: TokenQuestion) in try await token() }
    }

    /// What happens, in its order; each iteration is a reader of its own. It throws a ``LiveClientError`` when coming
    /// back would change nothing.
    public nonisolated var updates: LiveUpdates { LiveUpdates(handle) }

    /// Where the connection stands. Its times are milliseconds since 1970 by a clock that never goes back.
    public nonisolated var state: ConnectionState { handle.states.state }

    /// ``state``, and each that follows until the end. A follower that does not read misses the oldest beyond 16.
    public nonisolated var states: AsyncStream<ConnectionState> { handle.states.follow() }

    /// The app is out of sight: closes the connection and tries nothing, but keeps where it was.
    public nonisolated func enterBackground() { handle.perform { $0.setForeground(false) } }

    /// The app is in sight again: resumes at once.
    public nonisolated func enterForeground() { handle.perform { $0.setForeground(true) } }

    /// The path to the network has changed; from `NWPathMonitor` or its like.
    ///
    /// - Parameters:
    ///   - isSatisfied: whether there is a network. Without one nothing is tried, and as soon as it is back, at once.
    ///   - network: a name for it, such as that of the WLAN: which ways work there is remembered under it.
    public nonisolated func pathChanged(isSatisfied: Bool, network: String? = nil) {
        handle.perform { $0.handle(.path(isSatisfied: isSatisfied, network: network)) }
    }

    /// A person wants to see what is new: an attempt that waits is made at once, and a stream that is open is tested by a ping, which
    /// has to be answered within 2 seconds. Machines do so by themselves (``LiveMachine/refresh()``).
    public nonisolated func refresh() { handle.perform { $0.handle(.refresh) } }

    /// Ends the connection for good; ``updates`` end after what they hold already.
    public func close() { handle.perform { $0.handle(.stop) } }

    // MARK: For the machines

    /// One page of what came after a cursor; without one, no events and a fresh cursor.
    ///
    /// - Parameter upTo: a cursor that another node has told of, such as the `at` of a `changed` signal: the page comes when its
    ///   node has read as far, after 2 s at the latest, and has `more` while it has not.
    /// - Throws: `RequestError` for what the server refused, with its `Retry-After`; ``ConnectionEnd`` for what it would refuse
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
/// Each iterator is a reader of its own and gets everything from its making on. One that comes to a stream which is
/// open gets ``LiveUpdate/connected`` and ``LiveUpdate/resync(_:_:)`` first, with the cursor of where the stream
/// stands, and then, where the stream has said so, ``LiveUpdate/live(_:)`` and ``LiveUpdate/source(_:)``. One that
/// comes after others while there is no stream gets the resync too: what they have read is not delivered again.
///
/// A reader that is busy holds the stream back once ``LiveClientConfiguration/maximumBufferedUpdates`` wait for it:
/// the server waits too, and at last closes. Where others read, it holds them back for five seconds at most; then
/// what waits for it is dropped, and it gets ``LiveResync/behind``.
public struct LiveUpdates: AsyncSequence, Sendable {
    /// What happens on the stream.
    public typealias Element = LiveUpdate

    /// Gives the updates one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let reader: LiveReader

        /// Waits for the next update; nil is the end.
        public mutating func next() async throws -> LiveUpdate? { try await reader.next() }
    }

    private let handle: LiveHandle

    init(_ handle: LiveHandle) { self.handle = handle }

    /// Begins to read, as a reader of its own.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: handle.join()) }
}
