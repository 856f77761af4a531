/// A refusal before the stream: `application/problem+json` (RFC 9457) with a stable `code`.
///
/// ``serialized(date:withoutBody:isStorable:keepsAlive:fields:)`` gives head and body as one array below ``maximumBytes``, to
/// be written at once: of a refused handshake some clients show only what came in the same read as the head, others
/// 1,024 bytes. Only a 410 may be longer, by a cursor that names many partitions.
package struct Refusal: Error, Sendable, Equatable {
    /// Head and body together.
    package static let maximumBytes = 1023
    /// `detail` in the body, escaped.
    static let maximumDetailBytes = 320
    /// `error_description` in `WWW-Authenticate`.
    static let maximumDescriptionBytes = 120

    package let code: RefusalCode
    /// What is wrong, for an honest developer; goes to the peer. Cut where it is too long.
    package let detail: String
    /// `Retry-After`, in seconds: said where ``RefusalCode/passes`` is true, by whoever writes the refusal.
    package var retryAfterSeconds: Int?
    /// `Allow`, of 405.
    package let allow: String?
    /// Members of the body besides the five that all have, between `code` and `detail`; both parts are ours, short and
    /// without anything to escape.
    package let members: [Member]
    /// What the operator is told beside the code. It never goes to the peer.
    package let cause: RefusalCause?

    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(
        _ code: RefusalCode, _ detail: String? = nil, retryAfterSeconds: Int? = nil, allow: String? = nil,
        members: [Member] = [], cause: RefusalCause? = nil
    ) {
        self.code = code
        self.cause = cause
        self.detail = detail ?? code.defaultDetail
        self.retryAfterSeconds = retryAfterSeconds
        self.allow = allow
        self.members = members
    }

    package var status: Int { code.status }

    package var title: String { StatusTitle.of(code.status) }

    /// The whole response.
    ///
    /// - Parameters:
    ///   - date: the value of `Date` (``HTTPDate``); RFC 9110 §6.6.1 asks for it from whoever has a clock.
    ///   - withoutBody: for an answer to `HEAD`, whose length is given and whose body is not sent.
    ///   - isStorable: false forbids everybody on the way to keep the answer.
    ///   - keepsAlive: whether the client would send another request behind this one; the code decides with it.
    ///   - fields: what every answer to this caller has (``CrossOrigin``). Where they are long, `detail` is cut shorter.
    package func serialized(
        date: String?, withoutBody: Bool = false, isStorable: Bool = true, keepsAlive: Bool = true,
        fields: CrossOrigin.Fields = []
    ) -> [UInt8] {
        let fields = ownFields(isStorable: isStorable) + fields
        func response(_ body: [UInt8]) -> Response {
            Response(
                status: code.status, contentType: "application/problem+json", fields: fields, body: body,
                keepsConnection: code.keepsConnection && keepsAlive)
        }
        let body = body(maximumDetailBytes: Self.maximumDetailBytes)
        let bytes = response(body).serialized(date: date)
        let excess = bytes.count - Self.maximumBytes
        guard excess > 0, code != .resync else {
            return withoutBody ? response(body).serialized(date: date, withoutBody: true) : bytes
        }
        let detailBytes = body.count - self.body(maximumDetailBytes: 0).count
        let shorter = self.body(maximumDetailBytes: max(0, detailBytes - excess))
        return response(shorter).serialized(date: date, withoutBody: withoutBody)
    }

    private func ownFields(isStorable: Bool) -> [(String, String)] {
        var fields: [(String, String)] = []
        if code == .invalidToken {
            fields.append(("WWW-Authenticate", "Bearer error=\"invalid_token\", error_description=\"\(description)\""))
        }
        if code == .upgradeRequired {
            fields.append(("Sec-WebSocket-Version", "13"))
            // RFC 9110 §15.5.22: a 426 names the protocol to upgrade to.
            fields.append(("Upgrade", "websocket"))
        }
        if let retryAfterSeconds { fields.append(("Retry-After", String(retryAfterSeconds))) }
        if let allow { fields.append(("Allow", allow)) }
        if !isStorable { fields.append(("Cache-Control", "no-store")) }
        return fields
    }

    private func body(maximumDetailBytes: Int) -> [UInt8] {
        var body = Array("{\"type\":\"about:blank\",\"title\":\"\(title)\",\"status\":\(status),".utf8)
        body.append(contentsOf: "\"code\":\"\(code.rawValue)\",".utf8)
        for member in members { body.append(contentsOf: "\"\(member.name)\":\"\(member.value)\",".utf8) }
        body.append(contentsOf: "\"detail\":\"".utf8)
        JSONText.append(detail, to: &body, maximumBytes: maximumDetailBytes)
        body.append(contentsOf: "\"}".utf8)
        return body
    }

    /// RFC 6750 §3: visible ASCII and SP without `"` and `\`.
    private var description: String {
        String(
            decoding: detail.utf8.prefix(Self.maximumDescriptionBytes).map { byte in
                byte < 0x20 || byte > 0x7E || byte == 0x22 || byte == 0x5C ? 0x3F : byte
            }, as: UTF8.self)
    }
}

extension Refusal {
    /// Under which code ``plainGet(date:withoutBody:fields:)``, which is no JSON, is counted and logged.
    package static let plainGetCode = "not_a_websocket"

    /// 400 to a `GET /live/v1` that wants neither WebSocket nor an event stream: people open the address in a browser,
    /// and this is the sentence they know.
    package static func plainGet(
        date: String?, withoutBody: Bool = false, fields: CrossOrigin.Fields = []
    ) -> [UInt8] {
        Response(
            status: 400, contentType: "text/plain; charset=utf-8", fields: fields,
            body: Array("Client did not request a WebSocket.".utf8),
            keepsConnection: false
        ).serialized(date: date, withoutBody: withoutBody)
    }
}

/// Why a request is refused, for the operator alone.
package enum RefusalCause: Sendable, Equatable {
    /// Its token; the reason's name in the metrics.
    case token(String)
    /// The page that asks.
    case origin
}

/// Text inside a JSON string (RFC 8259 §7).
enum JSONText {
    /// Appends `text`, escaped, and stops before the first character that would make it more than `maximumBytes`.
    static func append(_ text: String, to output: inout [UInt8], maximumBytes: Int) {
        let end = output.count + maximumBytes
        for scalar in text.unicodeScalars {
            let piece = escaped(scalar)
            guard output.count + piece.count <= end else { return }
            output.append(contentsOf: piece)
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> [UInt8] {
        switch scalar.value {
        case 0x22: Array("\\\"".utf8)
        case 0x5C: Array("\\\\".utf8)
        case 0..<0x20, 0x7F, 0x2028, 0x2029:
            // DEL and the line separators need no escape in JSON; terminals and JavaScript are glad of it.
            Array(("\\u" + String(repeating: "0", count: 4 - hexadecimal(scalar).count) + hexadecimal(scalar)).utf8)
        default: Array(String(scalar).utf8)
        }
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String { String(scalar.value, radix: 16) }
}
