import Reactor

/// A stream of what changes in an account, kept alive: it connects, comes back after every loss as the server asks,
/// goes on where it was, asks for a new token before the old one ends, and sends it on the open stream.
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
///         case .connected, .beat, .source: break
///         }
///         if let cursor = update.cursor { model.keep(cursor) }
///     }
///
/// Connecting begins when ``updates`` is first read. It ends with ``close()``, when the task that reads is cancelled,
/// or when client and updates are let go.
public actor LiveClient {
    /// What happens, in its order. For one reader; it throws a ``LiveClientError`` when coming back would change
    /// nothing.
    public nonisolated let updates: LiveUpdates

    private let handle: LiveHandle

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameter token: gives the bearer token for the next attempt; asked anew for each, and 60 to 90 seconds before the
    ///   token of a stream ends. A new one is sent, and the stream goes on with it; with the same one, or an error, it goes on
    ///   until its token ends, and comes back. An error before an attempt is reported as
    ///   ``LiveUpdate/disconnected(reason:retry:)`` and tried again.
    /// - Throws: an address or files that cannot be used.
    public init(
        _ configuration: LiveClientConfiguration, token: @escaping @Sendable () async throws -> String
    ) throws(LiveClientError) {
        handle = try LiveHandle(configuration, token)
        updates = LiveUpdates(handle)
    }

    /// Ends the stream; ``updates`` ends after what it holds already.
    public func close() { handle.close() }
}

/// The updates of a ``LiveClient``.
public struct LiveUpdates: AsyncSequence, Sendable {
    public typealias Element = LiveUpdate

    /// Gives the updates one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let handle: LiveHandle

        /// Waits for the next update; nil is the end.
        public mutating func next() async throws -> LiveUpdate? {
            handle.start()
            let handle = handle
            return try await withTaskCancellationHandler {
                try await handle.buffer.next()
            } onCancel: {
                handle.close()
                handle.buffer.finish(nil)
            }
        }
    }

    private let handle: LiveHandle

    init(_ handle: LiveHandle) { self.handle = handle }

    /// The only iterator there should be: two would share the updates between them.
    public func makeAsyncIterator() -> Iterator { Iterator(handle: handle) }
}
