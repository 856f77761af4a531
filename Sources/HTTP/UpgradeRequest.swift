/// A client's opening handshake that may be answered with 101 (RFC 6455 §4.2.1).
package struct UpgradeRequest: Sendable, Equatable {
    /// `Sec-WebSocket-Key`: 24 bytes, base64 of 16.
    package let key: [UInt8]
    /// The subprotocols offered, in the client's order of preference; the bytes as they came.
    package let protocols: [[UInt8]]
    /// The values of `Sec-WebSocket-Extensions`, unparsed, in their order.
    package let extensions: [[UInt8]]

    /// Whether a request asks for a WebSocket at all, correctly or not. A request that does not is not a broken upgrade. It
    /// comes from another client: a browser, `curl`, an event stream.
    package static func isAsked(by head: RequestHead) -> Bool {
        head.headers.containsToken("websocket", in: "upgrade") || head.headers.contains("sec-websocket-key")
            || head.headers.contains("sec-websocket-version")
    }

    /// Checks every condition of RFC 6455 §4.2.1, in the order that helps a developer most.
    package static func validate(_ head: RequestHead) -> Result<UpgradeRequest, Refusal> {
        Result { () throws(Refusal) in try UpgradeRequest(head) }
    }

    private init(_ head: RequestHead) throws(Refusal) {
        let headers = head.headers
        guard head.method == "GET" else { throw Refusal(.methodNotAllowed, allow: "GET") }
        guard head.version == .http11 else {
            throw Refusal(.badUpgrade, "An upgrade to WebSocket needs HTTP/1.1.")
        }
        guard headers.containsToken("websocket", in: "upgrade") else {
            throw Refusal(.badUpgrade, "Upgrade does not name websocket.")
        }
        guard headers.containsToken("upgrade", in: "connection") else {
            throw Refusal(.badUpgrade, "Connection does not name Upgrade.")
        }
        let versions = headers.all("sec-websocket-version")
        guard let version = versions.first else { throw Refusal(.badUpgrade, "Sec-WebSocket-Version is missing.") }
        guard versions.count == 1 else { throw Refusal(.badUpgrade, "Duplicate Sec-WebSocket-Version header.") }
        guard version.equals("13") else { throw Refusal(.upgradeRequired) }
        let keys = headers.all("sec-websocket-key")
        guard let key = keys.first else { throw Refusal(.badUpgrade, "Sec-WebSocket-Key is missing.") }
        guard keys.count == 1 else { throw Refusal(.badUpgrade, "Duplicate Sec-WebSocket-Key header.") }
        guard WebSocketKey.isValid(key) else {
            throw Refusal(.badUpgrade, "Sec-WebSocket-Key is not 16 bytes in base64.")
        }
        // The JDK's client sends `Content-Length: 0`. A body would be read as frames.
        guard head.body.isEmpty else { throw Refusal(.badUpgrade, "An upgrade to WebSocket has no body.") }
        self.key = Array(key)
        protocols = headers.list("sec-websocket-protocol").map(Array.init)
        extensions = headers.all("sec-websocket-extensions").map(Array.init)
    }

    /// Whether the client offers this subprotocol; names are compared byte by byte.
    package func offers(_ name: String) -> Bool { protocols.contains { $0.elementsEqual(name.utf8) } }
}

/// The key of an opening handshake and what is hashed to answer it.
package enum WebSocketKey {
    /// RFC 6455 §1.3.
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// Whether this is base64 of 16 bytes: 22 digits and two `=`. The 4 unused bits of the last digit may have any value:
    /// the key is never decoded, and clients that set them do no harm.
    package static func isValid(_ key: ArraySlice<UInt8>) -> Bool {
        key.count == 24 && key.suffix(2).equals("==")
            && key.dropLast(2).allSatisfy { $0.isDigit || $0.isLetter || $0 == 0x2B || $0 == 0x2F }
    }

    /// The input of the SHA-1 for `Sec-WebSocket-Accept`. The caller computes the hash, because this module cannot, and
    /// encodes the 20 bytes in base64.
    package static func acceptInput(_ key: some Collection<UInt8>) -> [UInt8] { Array(key) + Array(guid.utf8) }
}

/// The server's side of the opening handshake (RFC 6455 §4.2.2).
package enum UpgradeResponse {
    /// The 101.
    ///
    /// - Parameters:
    ///   - accept: base64 of the SHA-1 of ``WebSocketKey/acceptInput(_:)``.
    ///   - subprotocol: the one that was chosen of those offered, or nil.
    ///   - extensions: the value of `Sec-WebSocket-Extensions`, or nil where none was agreed on.
    ///   - fields: the fields of every answer to this caller.
    package static func serialized(
        accept: String, subprotocol: String? = nil, extensions: String? = nil, fields: CrossOrigin.Fields = []
    ) -> [UInt8] {
        var text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        text += "Sec-WebSocket-Accept: " + accept + "\r\n"
        if let subprotocol { text += "Sec-WebSocket-Protocol: " + subprotocol + "\r\n" }
        if let extensions { text += "Sec-WebSocket-Extensions: " + extensions + "\r\n" }
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
