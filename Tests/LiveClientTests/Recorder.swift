import Reactor
import Synchronization
import TestHarness
import Testing
import Transport
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor

/// What a connection has told.
enum Told: Equatable, Sendable {
    case opened(String?)
    case message(MessageKind, [UInt8])
    case ping([UInt8])
    case pong([UInt8], isOurs: Bool)
    case ended(ConnectionEnding)

    static func text(_ text: String) -> Told { .message(.text, Array(text.utf8)) }
}

/// A connection on a loop of its own, seen from a test.
final class Recorder: ConnectionOwner, Sendable {
    typealias Reaction = @Sendable (ClientConnection<Recorder>, Told) -> Void

    let loop: EventLoop
    private let stream: AsyncStream<Told>
    private let sink: AsyncStream<Told>.Continuation
    private let reaction: Reaction
    private let connection = Mutex<LoopBound<ClientConnection<Recorder>>?>(nil)

    /// Connects at once.
    init(_ settings: ConnectionSettings, reaction: @escaping Reaction = { _, _ in }) throws {
        loop = try EventLoop(label: "client")
        (stream, sink) = AsyncStream<Told>.makeStream()
        self.reaction = reaction
        let loop = loop
        loop.wait { [self] in
            let connection = ClientConnection<Recorder>(settings, on: TransportLoop(loop: loop))
            let bound = LoopBound(connection, loop: loop)
            self.connection.withLock { $0 = bound }
            connection.start(self)
        }
    }

    /// Runs work with the connection on its loop.
    func perform(_ work: @escaping @Sendable (ClientConnection<Recorder>) -> Void) {
        let bound = connection.withLock { $0 }
        loop.wait { if let bound { work(bound.value) } }
    }

    /// Everything that was told, once the connection has ended. Records an issue and gives what there is after a minute.
    func all(sourceLocation: SourceLocation = #_sourceLocation) async -> [Told] {
        let sink = sink
        let deadline = alarm {
            Issue.record("the connection did not end in time", sourceLocation: sourceLocation)
            sink.finish()
        }
        var told: [Told] = []
        for await item in stream { told.append(item) }
        deadline.cancel()
        loop.stop()
        return told
    }

    func ending() async -> ConnectionEnding? {
        guard case .ended(let ending) = await all().last else { return nil }
        return ending
    }

    private func tell(_ told: Told) {
        sink.yield(told)
        if let bound = connection.withLock({ $0 }) { reaction(bound.value, told) }
        guard case .ended = told else { return }
        connection.withLock { $0 = nil }
        sink.finish()
    }

    func connectionOpened(_ opening: Opening) { tell(.opened(opening.subprotocol)) }
    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) { tell(.message(kind, payload)) }
    func connectionReceivedPing(_ payload: [UInt8]) { tell(.ping(payload)) }
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {
        tell(.pong(payload, isOurs: roundTrip != nil))
    }
    func connectionEnded(_ ending: ConnectionEnding) { tell(.ended(ending)) }
}
