import HTTP
import TLS
import WebSocket

/// One connection of the echo client, without its socket: bytes in, bytes out.
package struct CaseConversation: ~Copyable {
    /// Why a conversation could not go on.
    package enum Fault: Error {
        case request(RequestFault)
        case response(ResponseFault)
        case status(Int)
        case upgrade(UpgradeFault)
        case extensions(String)
    }

    private let deflate: DeflateOffer?
    private let echoes: Bool
    private let offer: UpgradeOffer
    private var parser = ResponseParser()
    private var session: WebSocketSession?
    private var events: [WebSocketEvent] = []
    private var request: [UInt8]

    /// What the peer wrote first, if that was text: the answer to `/getCaseCount`.
    package private(set) var firstText: [UInt8]?

    /// Whether the handshake was done.
    package private(set) var isOpen = false
    /// Whether the transport is to be closed once the output has left.
    package private(set) var isOver = false

    /// - Parameter echoes: whether messages go back as they came: in a case, not where the suite answers a question.
    package init(target: String, host: String, deflate: DeflateOffer?, echoes: Bool) throws(Fault) {
        self.deflate = deflate
        self.echoes = echoes
        var offer = UpgradeOffer(target: target, host: host, key: Base64.encode(Random.bytes(16)))
        offer.extensions = deflate?.text
        self.offer = offer
        do {
            request = try offer.serialized()
        } catch {
            throw .request(error)
        }
    }

    package mutating func receive(_ bytes: Span<UInt8>, now: UInt64) throws(Fault) {
        if session != nil {
            echo(bytes, now: now)
            return
        }
        switch parser.consume(bytes) {
        case .needMore: return
        case .failed(let fault): throw .response(fault)
        case .head(let head, let consumed):
            try open(head)
            echo(bytes.extracting(consumed..<bytes.count), now: now)
        }
    }

    private mutating func open(_ head: ResponseHead) throws(Fault) {
        guard head.status == 101 else { throw .status(head.status) }
        let accept = Base64.encode(Digest.sha1(WebSocketKey.acceptInput(offer.key.utf8)))
        let agreement: UpgradeAgreement
        do {
            agreement = try offer.agreement(in: head, accept: accept)
        } catch {
            throw .upgrade(error)
        }
        var parameters: DeflateParameters?
        if let answer = agreement.extensions, let deflate {
            guard let elements = try? ExtensionListParser.parse(Array(answer.utf8)),
                let agreed = deflate.read(answer: elements)
            else { throw .extensions(answer) }
            parameters = agreed
        }
        session = WebSocketSession(
            client: suiteLimits, deflate: parameters, maskKeys: { MaskKey(Random.word()) })
        isOpen = true
    }

    private mutating func echo(_ bytes: Span<UInt8>, now: UInt64) {
        session!.receive(bytes, now: now, into: &events)
        for event in events {
            guard case .message(let kind, let payload) = event else { continue }
            if firstText == nil && kind == .text { firstText = payload }
            if echoes { session!.send(kind, payload.span) }
        }
        events.removeAll()
        isOver = session!.transportAction == .closeAfterFlush
    }

    package mutating func takeOutput() -> [UInt8] {
        let first = request
        request = []
        guard session != nil else { return first }
        let output = session!.takeOutput()
        return first.isEmpty ? output : first + output
    }
}
