import HTTP
import TLS

/// The answers that were given to requests with an `Idempotency-Key`, of one account: the same request again gets the
/// same answer, and is not carried out twice.
struct AnsweredRequests: Sendable {
    /// Each holds an answer of a few kilobytes at most. The oldest are dropped: a demo's clients do not retry after so many.
    static let maximumKeys = 500
    static let maximumKeyBytes = 128

    enum Found {
        case same(AdminAnswer)
        /// The key was sent with another request.
        case another
    }

    private struct Kept {
        /// Of method, path and body.
        let request: [UInt8]
        let answer: AdminAnswer
    }

    private var kept: [String: Kept] = [:]
    /// In the order of their arrival.
    private var order: [String] = []

    var count: Int { kept.count }

    func answer(to key: String, _ request: AdminRequest) -> Found? {
        guard let found = kept[key] else { return nil }
        return found.request == Self.digest(request) ? .same(found.answer) : .another
    }

    mutating func keep(_ answer: AdminAnswer, to key: String, _ request: AdminRequest) {
        let new = Kept(request: Self.digest(request), answer: answer)
        if kept.updateValue(new, forKey: key) == nil { order.append(key) }
        if order.count > Self.maximumKeys { kept[order.removeFirst()] = nil }
    }

    private static func digest(_ request: AdminRequest) -> [UInt8] {
        Digest.sha256(Array("\(request.head.method) \(request.head.path)\n".utf8) + request.body)
    }
}

extension AdminAnswer {
    /// With an `ETag`, which is a hash of the body: another byte makes another tag. Clients that have it get a 304.
    static func tagged(
        _ body: [UInt8], _ contentType: String, for request: AdminRequest, caching: String,
        fields: [(String, String)] = []
    ) -> AdminAnswer {
        let tag = "\"\(Base64.encodeURL(Array(Digest.sha256(body).prefix(12))))\""
        // RFC 9110 §13.1.2: compared weakly.
        let known = request.head.headers.list("if-none-match").contains { given in
            given.elementsEqual("*".utf8) || given.elementsEqual(tag.utf8) || given.elementsEqual("W/\(tag)".utf8)
        }
        return AdminAnswer(
            known ? 304 : 200, contentType, .bytes(known ? [] : body), fields: [("ETag", tag)] + fields,
            caching: caching)
    }

    /// The same, marked as given before.
    var replayed: AdminAnswer {
        AdminAnswer(status, contentType, body, fields: fields + [("Idempotency-Replayed", "true")], caching: caching)
    }
}

/// Why the demo's API does not do what it was asked, as `application/problem+json` (RFC 9457).
enum APIProblem: Error, Equatable {
    case badParameter(String)
    case unauthorized
    case nothingThere
    case method(allow: String)
    /// A resolved incident cannot be acknowledged any more.
    case resolved
    case keyOfAnother
    /// The request asked for a failure.
    case asked(Int)

    var answer: AdminAnswer {
        switch self {
        case .badParameter(let why): Self.answer(400, why)
        case .unauthorized:
            Self.answer(
                401, "The token that the demo printed is asked for, as Authorization: Bearer.",
                [("WWW-Authenticate", "Bearer realm=\"demo\"")])
        case .nothingThere: Self.answer(404, "There is nothing at this address, or not any more.")
        case .method(let allow): Self.answer(405, "This address does not answer this method.", [("Allow", allow)])
        case .resolved: Self.answer(409, "The incident is resolved.")
        case .keyOfAnother: Self.answer(422, "This Idempotency-Key came with another request before.")
        case .asked(let status):
            Self.answer(status, "It was asked to fail.", status == 429 || status == 503 ? [("Retry-After", "1")] : [])
        }
    }

    /// A refusal before the API is called, in the API's format.
    static func answer(_ refusal: AdminRefusal) -> AdminAnswer {
        let plain = refusal.answer
        var why = "It was refused."
        if case .misdirected = refusal {
            why = "Host is neither an address nor localhost."
        } else if case .bytes(let line) = plain.body {
            why = String(decoding: line.dropLast(), as: UTF8.self)
        }
        return answer(plain.status, why, plain.fields)
    }

    private static func answer(_ status: Int, _ why: String, _ fields: [(String, String)] = []) -> AdminAnswer {
        let json = JSONValue.members([
            "type": .text("about:blank"), "title": .text(StatusTitle.of(status)), "status": .integer(status),
            "detail": .text(why),
        ])
        return AdminAnswer(status, "application/problem+json", .bytes(json.line), fields: fields)
    }
}
