import Reactor
import Synchronization

/// What client and updates share: the loop, the session on it, and what waits to be read. Ends the session when both
/// have let it go.
final class LiveHandle: Sendable {
    private enum Phase {
        case new, running, closed
    }

    /// Where the session stands once it is made; written and read on the loop alone.
    private final class Slot: Sendable {
        let session = Mutex<LoopBound<LiveSession>?>(nil)
    }

    let buffer: UpdateBuffer
    private let loop: EventLoop
    private let settings: ConnectionSettings
    private let cursor: LiveCursor?
    private let token: @Sendable () async throws -> String
    private let phase = Mutex(Phase.new)
    private let slot = Slot()

    init(
        _ configuration: LiveClientConfiguration, _ token: @escaping @Sendable () async throws -> String
    ) throws(LiveClientError) {
        settings = try configuration.connection()
        cursor = configuration.cursor
        self.token = token
        buffer = UpdateBuffer(maximumUpdates: configuration.maximumBufferedUpdates)
        do throws(ReactorError) {
            loop = try EventLoop(label: "live-client")
        } catch {
            throw .system(error.description)
        }
    }

    deinit { close() }

    /// Begins to connect; later calls do nothing.
    func start() {
        let isFirst = phase.withLock { phase in
            guard phase == .new else { return false }
            phase = .running
            return true
        }
        guard isFirst else { return }
        let (settings, cursor, token, buffer, loop, slot) = (settings, cursor, token, buffer, loop, slot)
        loop.execute {
            let session = LiveSession(settings, from: cursor, token: token, buffer: buffer, loop: loop)
            slot.session.withLock { $0 = LoopBound(session, loop: loop) }
            session.start()
        }
    }

    /// Ends the session, now or before it has begun.
    func close() {
        let before = phase.withLock { phase in
            defer { phase = .closed }
            return phase
        }
        switch before {
        case .closed: return
        case .new:
            buffer.finish(nil)
            loop.stop()
        case .running:
            let slot = slot
            // Behind the making of the session, because the loop is serial.
            loop.execute { slot.session.withLock { $0.take() }?.value.close() }
        }
    }
}
