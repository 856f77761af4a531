import HTTP
import LiveClient
import TLS
import WebSocket

/// What a 101 has brought.
package struct Opening: Equatable, Sendable {
    /// The subprotocol that the server chose, if any.
    package let subprotocol: String?
    /// How both sides may compress, if that was agreed.
    package let deflate: DeflateParameters?
    package let headers: HeaderFields
}

/// The client's side of the opening, without its connection: a request, then the bytes of the answer.
struct OpeningHandshake {
    enum Progress: Equatable {
        case needMore
        /// The first `consumed` bytes of the input belonged to the answer; what follows are frames.
        case open(Opening, consumed: Int)
        /// A stream of events, with how it ends; what follows in the input belongs to it.
        case stream(Opening, BodyFraming, consumed: Int)
        case refused(ServerAnswer)
        case answered(ServerAnswer)
        case failed(ConnectFailure)
    }

    private let offer: UpgradeOffer
    private let form: StreamForm
    private let accept: String
    private let deflate: DeflateOffer?
    private let maximumBodyBytes: Int
    private var parser = ResponseParser()
    private var refusal: (head: ResponseHead, body: BodyReader)?

    /// - Parameter maximumBodyBytes: of a refusal, or of the document.
    init(_ offer: UpgradeOffer, form: StreamForm = .webSocket, deflate: DeflateOffer?, maximumBodyBytes: Int) {
        self.offer = offer
        self.form = form
        self.deflate = deflate
        self.maximumBodyBytes = maximumBodyBytes
        accept = Base64.encode(Digest.sha1(WebSocketKey.acceptInput(offer.key.utf8)))
    }

    /// A key for ``UpgradeOffer``: base64 of 16 random bytes (RFC 6455 §4.1).
    static func makeKey() -> String { Base64.encode(Random.bytes(16)) }

    /// What the client sends.
    func request() throws(RequestFault) -> [UInt8] {
        switch form {
        case .webSocket: try offer.serialized()
        case .eventStream: try offer.plainRequest(accept: "text/event-stream")
        case .document: try offer.plainRequest(accept: "application/json")
        }
    }

    mutating func receive(_ bytes: Span<UInt8>) -> Progress {
        if refusal != nil { return readBody(bytes) }
        switch parser.consume(bytes) {
        case .needMore: return .needMore
        case .failed(let fault): return .failed(.badAnswer(fault))
        case .head(let head, let consumed):
            if head.status == 101, form == .webSocket { return open(head, consumed: consumed) }
            do throws(ResponseFault) {
                let framing = try head.framing()
                if isStream(head) {
                    let opening = Opening(subprotocol: nil, deflate: nil, headers: head.headers)
                    return .stream(opening, framing, consumed: consumed)
                }
                refusal = (head, BodyReader(framing, maximumBytes: maximumBodyBytes))
            } catch {
                // Where its body ends is not known; the status is, and that is what people need.
                refusal = (head, BodyReader(.none, maximumBytes: 0))
            }
            return readBody(bytes.extracting(consumed..<bytes.count))
        }
    }

    private mutating func readBody(_ bytes: Span<UInt8>) -> Progress {
        do throws(ResponseFault) {
            try refusal?.body.consume(bytes)
        } catch {
            return refused.map(Progress.refused) ?? .failed(.badAnswer(error))
        }
        return whole ?? .needMore
    }

    private var whole: Progress? {
        guard let refusal, refusal.body.isDone, let refused else { return nil }
        return form == .document ? .answered(refused) : .refused(refused)
    }

    /// The connection has ended, which is how a body without a length does.
    mutating func end() -> Progress? {
        try? refusal?.body.end()
        return whole
    }

    /// RFC 9110 §8.3.1: parameters may follow the type.
    private func isStream(_ head: ResponseHead) -> Bool {
        guard form == .eventStream, head.status == 200, let type = head.headers.text("content-type") else {
            return false
        }
        let name = type.utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: name, as: UTF8.self).lowercased().hasPrefix("text/event-stream")
    }

    private func open(_ head: ResponseHead, consumed: Int) -> Progress {
        do throws(UpgradeFault) {
            let agreement = try offer.agreement(in: head, accept: accept)
            guard let extensions = agreement.extensions else {
                let opening = Opening(subprotocol: agreement.subprotocol, deflate: nil, headers: head.headers)
                return .open(opening, consumed: consumed)
            }
            guard let answer = try? ExtensionListParser.parse(Array(extensions.utf8)),
                let parameters = deflate?.read(answer: answer)
            else { return .failed(.badExtensions) }
            let opening = Opening(subprotocol: agreement.subprotocol, deflate: parameters, headers: head.headers)
            return .open(opening, consumed: consumed)
        } catch {
            return .failed(.badUpgrade(error))
        }
    }

    /// The refusal as far as it has come; nil while there is no head. It is what there is when the time is up or the
    /// connection ends.
    var refused: ServerAnswer? {
        guard let (head, body) = refusal else { return nil }
        return ServerAnswer(
            status: head.status, reason: head.reason, headers: head.headers, body: body.bytes,
            isTruncated: body.isTruncated)
    }
}

/// Where redirects have led a client, and what it may show there.
package struct RedirectPath: Sendable {
    /// Why a redirect is not followed.
    package enum Problem: Error, Equatable, Sendable {
        case tooMany(limit: Int)
        case badLocation(URLFault)
        /// The ticket of ``RedirectPath/first`` stands in another server's address, as servers repeat what they were asked for.
        case carriesTicket
    }

    /// Where the user wanted to go.
    package let first: WebSocketURL
    package private(set) var current: WebSocketURL
    private var count = 0

    package init(_ url: WebSocketURL) {
        first = url
        current = url
    }

    /// Whether what was meant for ``first`` may be shown to ``current``: credentials, and a `Host` that was set by
    /// hand. A redirect is the word of a server, and tokens are not given away on it.
    package var isSameOrigin: Bool { current.hasSameOrigin(as: first) }

    /// Goes on to `location`.
    package mutating func follow(_ location: [UInt8], maximum: Int) throws(Problem) {
        guard count < maximum else { throw .tooMany(limit: maximum) }
        let next: WebSocketURL
        do throws(URLFault) {
            next = try current.resolving(location)
        } catch {
            throw .badLocation(error)
        }
        guard next.hasSameOrigin(as: first) || !next.holdsTicket(of: first) else { throw .carriesTicket }
        current = next
        count += 1
    }
}
