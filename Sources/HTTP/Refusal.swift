/// A refusal before the stream: `application/problem+json` (RFC 9457) with a stable `code`.
///
/// ``serialized(date:withoutBody:isStorable:keepsAlive:fields:)`` gives head and body as one array below ``maximumBytes``,
/// to be written at once. Of a refused handshake, some clients show only the bytes of the read that had the head, others
/// 1,024 bytes. Only a 410 may be longer: its cursor may name many partitions.
package struct Refusal: Error, Sendable, Equatable {
    /// Head and body together.
    package static let maximumBytes = 1023
    /// `detail` in the body, escaped.
    static let maximumDetailBytes = 320
    /// `error_description` in `WWW-Authenticate`.
    static let maximumDescriptionBytes = 120

    package let code: RefusalCode
    /// What is wrong, in words for an honest developer. It is sent to the peer, and cut where it is too long.
    package let detail: String
    /// `Retry-After`, in seconds. The code that writes the refusal sets it where ``RefusalCode/passes`` is true.
    package var retryAfterSeconds: Int?
    /// `Allow`, for 405.
    package let allow: String?
    /// Members of the body besides the five that all refusals have, between `code` and `detail`. Name and value are ours, short
    /// and without anything to escape.
    package let members: [Member]
    /// What is logged for the operator besides the code. It is never sent to the peer.
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
    ///   - date: the value of `Date` (``HTTPDate``). RFC 9110 §6.6.1 requires it of every server that has a clock.
    ///   - withoutBody: for an answer to `HEAD`: the length is given, and the body is not sent.
    ///   - isStorable: false forbids all caches on the path to store the answer.
    ///   - keepsAlive: whether the client would send another request after this one; the code decides too.
    ///   - fields: the fields of every answer to this caller (``CrossOrigin``). Where they are long, `detail` is cut shorter.
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
    /// The code for logs and metrics of ``plainGet(date:withoutBody:fields:)``, whose body is not JSON.
    package static let plainGetCode = "not_a_websocket"

    /// 400 to a `GET /live/v1` that asks neither for a WebSocket nor for an event stream. People open the address in a
    /// browser, and they know this sentence.
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

/// Why a request is refused, only for the operator.
package enum RefusalCause: Sendable, Equatable {
    /// The token of the request; the value names the reason in the metrics.
    case token(String)
    /// The page that sent the request.
    case origin
}

/// Text inside a JSON string (RFC 8259 §7).
enum JSONText {
    /// Appends `text`, escaped. Stops before the first character that would exceed `maximumBytes`.
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
            // JSON does not require an escape for DEL and the line separators. Terminals and JavaScript need it.
            Array(("\\u" + String(repeating: "0", count: 4 - hexadecimal(scalar).count) + hexadecimal(scalar)).utf8)
        default: Array(String(scalar).utf8)
        }
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String { String(scalar.value, radix: 16) }
}
