/// A response whose whole body is known.
package struct Response: Sendable, Equatable {
    package let status: Int
    package let contentType: String
    /// Fields besides those that every response has. Names and values are ours, never a peer's.
    package let fields: [(String, String)]
    package let body: [UInt8]
    package let keepsConnection: Bool

    package init(
        status: Int, contentType: String, fields: [(String, String)] = [], body: [UInt8], keepsConnection: Bool
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
        self.keepsConnection = keepsConnection
    }

    /// Head and body as one array, to be written at once.
    package func serialized(date: String?, withoutBody: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + body.count)
        bytes.append(contentsOf: "HTTP/1.1 \(status) \(StatusTitle.of(status))\r\n".utf8)
        if let date { Self.append("Date", date, to: &bytes) }
        Self.append("Content-Type", contentType, to: &bytes)
        Self.append("Content-Length", String(body.count), to: &bytes)
        for (name, value) in fields { Self.append(name, value, to: &bytes) }
        // RFC 9110 §7.8: a sender of Upgrade names it in Connection.
        let options = (fields.contains { $0.0 == "Upgrade" } ? ["Upgrade"] : []) + (keepsConnection ? [] : ["close"])
        if !options.isEmpty { Self.append("Connection", options.joined(separator: ", "), to: &bytes) }
        bytes.append(contentsOf: "\r\n".utf8)
        if !withoutBody { bytes.append(contentsOf: body) }
        return bytes
    }

    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: ": ".utf8)
        bytes.append(contentsOf: value.utf8)
        bytes.append(contentsOf: "\r\n".utf8)
    }

    package static func == (left: Response, right: Response) -> Bool {
        left.serialized(date: nil) == right.serialized(date: nil) && left.keepsConnection == right.keepsConnection
    }
}
