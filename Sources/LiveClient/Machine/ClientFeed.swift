import LiveState

extension LiveMachine {
    /// Makes a machine over a client's connection; nothing is read and nothing asked before ``start()``.
    ///
    /// - Parameters:
    ///   - area: what is kept, and how it is fetched.
    ///   - store: where it is kept, with the finger.
    ///   - client: the connection. It may be that of other machines. It has to deliver at least this one's entities, or the program
    ///     stops: the machine would be live, and never see an event. Settings without entities stand for all that it delivers.
    ///   - settings: with the server's `retention`, and the area's entities; its seed is drawn here.
    ///   - maximumReloads: so many things are fetched at once.
    ///   - requestDeadline: so long each request of the area may take, in ms, with what the area is told of the finger first
    ///     (``LiveArea/fingerChanged(isHeld:)``). Then it is cancelled and counts as one without an answer; what it still brings is
    ///     dropped.
    ///   - storeDeadline: so long the store may take to be read or written, in ms. Then ``storeError`` says so. It is read again
    ///     behind a wait; what is being written is waited for.
    ///   - gate: of the area's API; nil: the client's (<doc:Errors>).
    public init(
        _ area: Area, store: Area.Store, client: LiveClient, settings: UpdateMachine.Settings = .init(),
        maximumReloads: Int = 4, requestDeadline: Milliseconds = 60_000, storeDeadline: Milliseconds = 10_000,
        gate: LiveGate? = nil
    ) {
        let missing = client.entities.isEmpty ? [] : settings.entities.filter { !client.entities.contains($0) }
        precondition(missing.isEmpty, "the client's configuration does not deliver the machine's entities \(missing)")
        self.init(
            area, store: store, feed: ClientFeed(client), settings: settings.drawn(), maximumReloads: maximumReloads,
            requestDeadline: requestDeadline, storeDeadline: storeDeadline, gate: gate ?? client.gate,
            tokens: client.tokens)
    }
}

// A 401 of the area's API.
extension LiveMachine {
    func requestToken() {
        let (area, tokens, refused) = (area, tokens, lastAsked)
        // A number that no effect has: there is one such request at a time.
        begin(-1) {
            try await LiveTokens.renew(tokens, replacing: refused) { try await area.renewToken() }
            return .token(isValid: true)
        } failed: {
            $0 == .unauthorized ? .token(isValid: false) : .tokenFailed
        }
    }

    /// Notes with which token a request begins, and takes that back when it ends. False: it was given up.
    func noteToken(_ number: Int) { askedTokens[number] = tokens?.token }

    func isWanted(_ number: Int) -> Bool {
        lastAsked = askedTokens.removeValue(forKey: number) ?? lastAsked
        return requests.removeValue(forKey: number) != nil
    }
}

extension UpdateMachine.Settings {
    /// The same with a seed of its own: clients that lose the same server come back at different times.
    func drawn() -> Self {
        var settings = self
        settings.seed = .random(in: 0 ... .max)
        return settings
    }
}

/// Where a machine's events come from: one connection for any number of machines.
package protocol LiveFeed: Sendable {
    /// A reader of its own.
    ///
    /// - Parameter cursor: everything behind it is to be read. Where the connection cannot go back there without a gap for
    ///   other readers, the reader gets ``LiveUpdate/resync(_:_:)`` first.
    func read(from cursor: LiveCursor) -> LiveFeedReader

    /// One page of what came after a cursor; without one, a fresh cursor.
    ///
    /// - Throws: ``ConnectionEnd`` for what the server would refuse again.
    func sync(since cursor: LiveCursor?) async throws -> SyncAnswer

    /// A person wants to see what is new: the connection is tested, or tried at once.
    func refresh()

    /// Where the connection stands, and each state that follows until its end.
    var states: AsyncStream<ConnectionState> { get }
}

extension LiveFeed {
    package func refresh() {}
}

/// One reader of a feed, and where it stands.
package struct LiveFeedReader: Sendable {
    /// Waits for the next update; nil is the end.
    package let next: @Sendable () async throws -> LiveUpdate?

    package init(next: @escaping @Sendable () async throws -> LiveUpdate?) { self.next = next }
}

/// A client's connection as a feed for any number of machines.
struct ClientFeed: LiveFeed {
    private let client: LiveClient

    init(_ client: LiveClient) { self.client = client }

    var states: AsyncStream<ConnectionState> { client.states }

    func refresh() { client.refresh() }

    func read(from cursor: LiveCursor) -> LiveFeedReader {
        let reader = client.handle.join(from: cursor)
        return LiveFeedReader { try await reader.next() }
    }

    /// Where a stream is open, its own cursor is a fresh finger: whatever comes later comes by this stream, which no other node's
    /// cursor could promise. Else the server is asked.
    func sync(since cursor: LiveCursor?) async throws -> SyncAnswer {
        if cursor == nil, let open = await openCursor { return .page([], at: open, more: false) }
        return try await client.sync(since: cursor)
    }

    private var openCursor: LiveCursor? {
        get async {
            await withCheckedContinuation { continuation in
                client.handle.perform { session in
                    let isOpen = session.machine.view.state == .connected && session.isLive
                    continuation.resume(returning: isOpen ? session.cursor : nil)
                }
            }
        }
    }
}
