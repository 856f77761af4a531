import HTTP
import LiveClient
import TLS
import WebSocket

/// The result of a 101.
package struct Opening: Equatable, Sendable {
    /// The subprotocol that the server chose, if any.
    package let subprotocol: String?
    /// How both sides may compress, if they agreed on it.
    package let deflate: DeflateParameters?
    package let headers: HeaderFields
}

/// The client's side of the opening, without its connection: a request, then the bytes of the answer.
struct OpeningHandshake {
    enum Progress: Equatable {
        case needMore
        /// The first `consumed` bytes of the input belong to the answer; frames follow.
        case open(Opening, consumed: Int)
        /// A stream of events, and how it ends. The rest of the input belongs to it.
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

    /// - Parameter maximumBodyBytes: the limit of a refusal, or of the document.
    init(_ offer: UpgradeOffer, form: StreamForm = .webSocket, deflate: DeflateOffer?, maximumBodyBytes: Int) {
        self.offer = offer
        self.form = form
        self.deflate = deflate
        self.maximumBodyBytes = maximumBodyBytes
        accept = Base64.encode(Digest.sha1(WebSocketKey.acceptInput(offer.key.utf8)))
    }

    /// A key for ``UpgradeOffer``: base64 of 16 random bytes (RFC 6455 §4.1).
    static func makeKey() -> String { Base64.encode(Random.bytes(16)) }

    /// The bytes that the client sends.
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
                // The end of its body is unknown, but the status is known, and people need that.
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

    /// The connection has ended, which also ends a body without a length.
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

    /// The refusal as far as it has arrived; nil without a head. It is the result after the deadline, or at the connection's end.
    var refused: ServerAnswer? {
        guard let (head, body) = refusal else { return nil }
        return ServerAnswer(
            status: head.status, reason: head.reason, headers: head.headers, body: body.bytes,
            isTruncated: body.isTruncated)
    }
}

/// Where redirects have led a client, and what it may send there.
package struct RedirectPath: Sendable {
    /// Why a redirect is not followed.
    package enum Problem: Error, Equatable, Sendable {
        case tooMany(limit: Int)
        case badLocation(URLFault)
        /// Another server's address contains the ticket of ``RedirectPath/first``, because servers repeat what the request
        /// contained.
        case carriesTicket
    }

    /// The address that the user asked for.
    package let first: WebSocketURL
    package private(set) var current: WebSocketURL
    private var count = 0

    package init(_ url: WebSocketURL) {
        first = url
        current = url
    }

    /// Whether ``current`` may receive what was meant for ``first``: credentials, and a `Host` that was set by hand. A redirect
    /// is only a server's decision, and tokens are not sent to another server because of it.
    package var isSameOrigin: Bool { current.hasSameOrigin(as: first) }

    /// Continues to `location`.
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
