import HTTP
import LiveUpdates
import WebSocket

@testable import Gateway

/// A subscriber's port that says as text what was written and wished. What was written is pending until the row says that
/// it has left.
final class RecordingPort: SubscriberPort {
    var pendingBytes = 0
    var person: String?
    private var said: [String] = []
    private(set) var wakesAt: UInt64?
    private(set) var reads: [ReadRequest] = []
    private(set) var hasEnded = false
    private var receiver: ClientReceiver?

    init(_ carrier: StreamForm.Carrier?) { receiver = carrier.map(ClientReceiver.init) }

    /// What was said since the last call.
    func takeSaid() -> [String] {
        defer { said = [] }
        return said
    }

    func isOf(_ person: String) -> Bool { self.person == person }

    func write(_ bytes: [UInt8]) {
        precondition(!hasEnded, "bytes after the end")
        pendingBytes += bytes.count
        said += receiver?.receive(bytes) ?? []
    }

    func subscribe(_ account: Account, _ request: JoinRequest) {
        let since = request.since.map { " since=" + String(decoding: $0, as: UTF8.self) } ?? ""
        said.append("subscribe\(since)\(request.withCursors ? " with cursors" : "") limit=\(request.page.limit)")
    }

    func unsubscribe(_ account: Account, withCursors: Bool) {
        hasEnded = true
        said.append("unsubscribe\(withCursors ? " with cursors" : "")")
    }

    func read(_ account: Account, _ request: ReadRequest) {
        reads.append(request)
        let upTo = request.waits ? request.page.upTo.map { " upto=" + String(decoding: $0, as: UTF8.self) } ?? "" : ""
        said.append("read after \(request.position.sequence) limit=\(request.page.limit)\(upTo)")
    }

    func readNow(_ account: Account) { said.append("read now") }

    func askFreshCursor(_ account: Account) { said.append("ask fresh") }

    func wake(at time: UInt64) {
        wakesAt = time
        said.append("wake at \(time)")
    }

    func streamBegins() { said.append("head") }

    func streamEnds(_ code: CloseCode, _ why: StaticString, _ unsent: [DeliveryFacts]) {
        said.append("close \(code.rawValue): \(why)")
    }

    func pollBegins() {}

    func pollEnds(answer body: [UInt8], _ facts: DeliveryFacts) {
        said.append("200 " + String(decoding: body, as: UTF8.self))
    }

    func pollEnds(refused why: ResyncReason, fresh: CursorText) {
        said.append("410 \(why) " + String(decoding: fresh.bytes, as: UTF8.self))
    }
}

/// Reads what a client gets, each message as one text: JSON, or an event with its fields.
final class ClientReceiver {
    private let isEventStream: Bool
    private var frames: WebSocketReceiver
    private var stream = EventStreamParser(maximumEventBytes: 4096)

    init(_ carrier: StreamForm.Carrier) {
        isEventStream = carrier == .eventStream
        let policy = DeflatePolicy.shared
        let deflate = DeflateParameters(
            serverContextTakeover: policy.serverContextTakeover, serverWindowBits: policy.serverWindowBits)
        frames = WebSocketReceiver(
            role: .client, limits: WebSocketLimits(), deflate: carrier == .deflated ? deflate : nil)
    }

    func receive(_ bytes: [UInt8]) -> [String] {
        if isEventStream {
            var events: [StreamedEvent] = []
            do { try stream.consume(bytes, into: &events) } catch { preconditionFailure("\(error)") }
            return events.map { event in
                let name = event.name.isEmpty ? "" : "\(String(decoding: event.name, as: UTF8.self)) "
                let id = event.lastID.map { " id=" + String(decoding: $0, as: UTF8.self) } ?? ""
                return name + String(decoding: event.data, as: UTF8.self) + id
            }
        }
        var events: [WebSocketEvent] = []
        frames.receive(bytes.span, now: 0, into: &events)
        return events.map { event in
            guard case .message(.text, let payload) = event else { preconditionFailure("no text message: \(event)") }
            return String(decoding: payload, as: UTF8.self)
        }
    }
}
