import LiveState

extension LiveMachine {
    /// Makes a machine that uses a client's connection. It reads and requests nothing before ``start()``.
    ///
    /// - Parameters:
    ///   - area: what the machine keeps up to date, and how it is fetched.
    ///   - store: where the area is stored, with the cursor held.
    ///   - client: the connection. Other machines may share it. It has to deliver at least this machine's entities, or the
    ///     program stops: otherwise the machine would be live and never see an event. Settings without entities mean all that it
    ///     delivers.
    ///   - settings: with the server's `retention`, and the area's entities. Their seed is set here.
    ///   - maximumReloads: how many things are fetched at once.
    ///   - requestDeadline: the time limit for each request of the area, in ms, including ``LiveArea/fingerChanged(isHeld:)``
    ///     before it. After it the request is cancelled and counts as one without an answer; its later result is dropped.
    ///   - storeDeadline: the time limit for reading or writing the store, in ms. After it ``storeError`` reports the delay. A
    ///     read is tried again after a wait; a running write is awaited.
    ///   - gate: the gate of the area's API; nil: the client's (<doc:Errors>).
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

// Handles a 401 of the area's API.
extension LiveMachine {
    func requestToken() {
        let (area, tokens, refused) = (area, tokens, lastAsked)
        // A number that no effect has: only one such request runs at a time.
        begin(-1) {
            try await LiveTokens.renew(tokens, replacing: refused) { try await area.renewToken() }
            return .token(isValid: true)
        } failed: {
            $0 == .unauthorized ? .token(isValid: false) : .tokenFailed
        }
    }

    /// Stores the token with which a request begins; ``isWanted(_:)`` removes it, and returns false if the request was cancelled.
    func noteToken(_ number: Int) { askedTokens[number] = tokens?.token }

    func isWanted(_ number: Int) -> Bool {
        lastAsked = askedTokens.removeValue(forKey: number) ?? lastAsked
        return requests.removeValue(forKey: number) != nil
    }
}

extension UpdateMachine.Settings {
    /// The same settings with a random seed, so that clients that lose the same server reconnect at different times.
    func drawn() -> Self {
        var settings = self
        settings.seed = .random(in: 0 ... .max)
        return settings
    }
}

/// The source of a machine's events: one connection for any number of machines.
package protocol LiveFeed: Sendable {
    /// Makes a separate reader.
    ///
    /// - Parameter cursor: the reader gets everything after it. If the connection cannot go back there without a gap for other
    ///   readers, the reader gets ``LiveUpdate/resync(_:_:)`` first.
    func read(from cursor: LiveCursor) -> LiveFeedReader

    /// Returns one page of what came after a cursor; without one, a fresh cursor.
    ///
    /// - Throws: ``ConnectionEnd`` for what the server would refuse again.
    func sync(since cursor: LiveCursor?) async throws -> SyncAnswer

    /// A person wants to see what is new: tests the connection, or tries to connect at once.
    func refresh()

    /// The current state of the connection, then each later state until its end.
    var states: AsyncStream<ConnectionState> { get }
}

extension LiveFeed {
    package func refresh() {}
}

/// One reader of a feed, with its own position.
package struct LiveFeedReader: Sendable {
    /// Waits for the next update; nil means the end.
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

    /// If a stream is open, its cursor is used: all later events arrive by this stream. With a cursor of another node that would
    /// not be sure. Otherwise the client asks the server.
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
