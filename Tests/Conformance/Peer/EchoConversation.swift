import HTTP
import TLS
import WebSocket

/// What the conformance suite needs of both ends: its largest messages are 16 MiB, and the longest rows of fragments
/// carry 64 bytes each.
package let suiteLimits = WebSocketLimits(
    maximumMessageBytes: 64 << 20, maximumFragments: 1 << 20, maximumControlFramesPerSecond: 10_000)

/// One connection of the echo server, without its socket: bytes in, bytes out.
package struct EchoConversation: ~Copyable {
    private let deflate: DeflatePolicy?
    private var parser = RequestParser()
    private var session: WebSocketSession?
    private var events: [WebSocketEvent] = []
    private var response: [UInt8] = []

    /// Whether the transport is to be closed once the output has left.
    package private(set) var isOver = false

    package init(deflate: DeflatePolicy?) { self.deflate = deflate }

    package mutating func receive(_ bytes: Span<UInt8>, now: UInt64) {
        if session != nil {
            echo(bytes, now: now)
            return
        }
        guard !isOver else { return }
        switch parser.consume(bytes) {
        case .needMore: return
        case .refused(let refusal): refuse(refusal)
        case .head(let head, let consumed):
            switch UpgradeRequest.validate(head) {
            case .failure(let refusal): refuse(refusal)
            case .success(let upgrade): open(upgrade)
            }
            if session != nil { echo(bytes.extracting(consumed..<bytes.count), now: now) }
        }
    }

    private mutating func refuse(_ refusal: Refusal) {
        isOver = true
        response = refusal.serialized(date: nil)
    }

    private mutating func open(_ upgrade: UpgradeRequest) {
        var agreed: (parameters: DeflateParameters, answer: String)?
        if let deflate, !upgrade.extensions.isEmpty {
            guard let offers = try? ExtensionListParser.parse(lines: upgrade.extensions) else {
                refuse(Refusal(.badUpgrade, "Sec-WebSocket-Extensions is malformed."))
                return
            }
            agreed = deflate.accept(offers)
        }
        let accept = Base64.encode(Digest.sha1(WebSocketKey.acceptInput(upgrade.key)))
        response = UpgradeResponse.serialized(accept: accept, extensions: agreed?.answer)
        session = WebSocketSession(server: suiteLimits, deflate: agreed?.parameters)
    }

    private mutating func echo(_ bytes: Span<UInt8>, now: UInt64) {
        session!.receive(bytes, now: now, into: &events)
        for event in events {
            if case .message(let kind, let payload) = event { session!.send(kind, payload.span) }
        }
        events.removeAll()
        isOver = session!.transportAction == .closeAfterFlush
    }

    package mutating func takeOutput() -> [UInt8] {
        let first = response
        response = []
        guard session != nil else { return first }
        let output = session!.takeOutput()
        return first.isEmpty ? output : first + output
    }
}
