import HTTP

/// Answers the requests of an address, each whole with its body. Confined to the loop of its connections.
protocol AdminSite: AnyObject {
    /// A request with its body has this long.
    var requestMilliseconds: UInt64 { get }
    /// For the field `Date`.
    var date: String { get }

    func reply(to request: AdminRequest) throws(AdminRefusal) -> AdminReply
}

/// How a request is answered.
enum AdminReply {
    case now(AdminAnswer)
    /// Something else is waited for: other loops, or time.
    case later(@Sendable () async throws(AdminRefusal) -> AdminAnswer)
}

/// What is answered on the administration address.
struct AdminAnswer: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Made piece by piece, each when the one before has left: a listing of a hundred thousand lines.
        case pages(any AdminPages)
    }

    static let text = "text/plain; charset=utf-8"
    static let json = "application/json"

    let status: Int
    let contentType: String
    /// Besides those that every answer has. Ours, never a peer's.
    let fields: [(String, String)]
    let body: Body
    /// Almost everything here is about this moment.
    let caching: String

    init(
        _ status: Int, _ contentType: String = Self.text, _ body: Body, fields: [(String, String)] = [],
        caching: String = "no-store"
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
        self.caching = caching
    }

    /// A sentence or a word in a line.
    init(_ status: Int, _ sentence: String, fields: [(String, String)] = []) {
        self.init(status, Self.text, .bytes(Array("\(sentence)\n".utf8)), fields: fields)
    }

    init(_ json: JSONValue) { self.init(200, Self.json, .bytes(json.line)) }

    /// The head, with the whole body where it is known and asked for.
    func serialized(date: String, withoutBody: Bool, keepsAlive: Bool, isChunked: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(StatusTitle.of(status))\r\nDate: \(date)\r\nContent-Type: \(contentType)\r\n"
        // A browser must use the content type that the answer declares.
        text += "Cache-Control: \(caching)\r\nX-Content-Type-Options: nosniff\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        switch body {
        // RFC 9110 §8.6: with 304 it would be the length of what the client has.
        case .bytes(let bytes): if status != 304 { text += "Content-Length: \(bytes.count)\r\n" }
        case .pages: if isChunked { text += "Transfer-Encoding: chunked\r\n" }
        }
        if !keepsAlive { text += "Connection: close\r\n" }
        var bytes = Array((text + "\r\n").utf8)
        if case .bytes(let body) = body, !withoutBody { bytes.append(contentsOf: body) }
        return bytes
    }

    /// A piece of a chunked body (RFC 9112 §7.1); nil: its end.
    static func chunk(_ piece: [UInt8]?) -> [UInt8] {
        guard let piece else { return Array("0\r\n\r\n".utf8) }
        return Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
    }
}

/// A body that is made piece by piece.
protocol AdminPages: Sendable {
    /// The next piece, never empty; nil when there is none. Asked one at a time.
    func next() async -> [UInt8]?
}

/// Why something is not answered, in words for an operator.
enum AdminRefusal: Error, Sendable {
    /// Input that is not a request: refused as clients are.
    case malformed(Refusal)
    case badParameter(String)
    /// No token, or not the one that counts.
    case unauthorized
    /// A page of another address asks.
    case foreignOrigin
    case notFound
    case methodNotAllowed(allow: String)
    /// Asked for later than something that excludes it.
    case conflict(String)
    case bodyTooLarge
    /// `Host` is no name of this address.
    case misdirected
    case timeout
    /// A part of the node does not answer in time.
    case unavailable(String)

    var answer: AdminAnswer {
        switch self {
        case .malformed(let refusal): AdminAnswer(refusal.status, refusal.detail)
        case .badParameter(let why): AdminAnswer(400, why)
        case .unauthorized:
            AdminAnswer(
                401, "The token of admin_token_file is asked for, as Authorization: Bearer.",
                fields: [("WWW-Authenticate", "Bearer realm=\"livegate\"")])
        case .foreignOrigin: AdminAnswer(403, "Origin is another address than Host.")
        case .notFound: AdminAnswer(404, "There is nothing at this address.")
        case .methodNotAllowed(let allow):
            AdminAnswer(405, "This address does not answer this method.", fields: [("Allow", allow)])
        case .conflict(let why): AdminAnswer(409, why)
        case .bodyTooLarge: AdminAnswer(413, "The body is over \(AdminRequestReader.maximumBodyBytes) bytes.")
        case .misdirected:
            AdminAnswer(421, "Host is neither an address nor localhost: name it in admin_hosts if it is ours.")
        case .timeout: AdminAnswer(408, "The request did not arrive in time.")
        case .unavailable(let why): AdminAnswer(503, why)
        }
    }
}
