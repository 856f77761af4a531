/// What a request must not contain, because it would change the request into another one.
package enum RequestFault: Error, Equatable, Sendable {
    case targetNotVisibleASCII
    case headerNameNotToken(String)
    /// The value contains a control byte: CR and LF would begin a new field.
    case headerValueHasControlByte(name: String)
}

/// The head of a request as a client sends it.
package enum ClientRequest {
    /// The bytes of a request without a body. Every part that may come from outside the caller is checked.
    package static func serialized(
        method: String, target: String, headers: [(name: String, value: String)]
    ) throws(RequestFault) -> [UInt8] {
        guard !target.isEmpty, target.utf8.allSatisfy({ $0 > ASCII.space && $0 < ASCII.delete }) else {
            throw .targetNotVisibleASCII
        }
        var bytes = Array("\(method) \(target) HTTP/1.1\r\n".utf8)
        for (name, value) in headers {
            try check(name: name, value: value)
            bytes.append(contentsOf: "\(name): ".utf8)
            bytes.append(contentsOf: value.utf8)
            bytes.append(contentsOf: "\r\n".utf8)
        }
        bytes.append(contentsOf: "\r\n".utf8)
        return bytes
    }

    /// Whether this is a token: a subprotocol's name, a field's.
    package static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(\.isToken) }

    /// Whether a field may be sent as it is.
    package static func check(name: String, value: String) throws(RequestFault) {
        guard isToken(name) else { throw .headerNameNotToken(name) }
        guard value.utf8.allSatisfy({ !$0.isControl || $0 == ASCII.horizontalTab }) else {
            throw .headerValueHasControlByte(name: name)
        }
    }
}

/// A client's opening handshake (RFC 6455 §4.1).
package struct UpgradeOffer: Sendable {
    /// Path and query.
    package var target: String
    /// The value of `Host`.
    package var host: String
    /// 24 bytes: base64 of 16 random ones.
    package var key: String
    /// The value of `Sec-WebSocket-Version`. The servers of today know only 13.
    package var version = 13
    package var protocols: [String] = []
    /// The value of `Sec-WebSocket-Extensions`, or nil to offer none.
    package var extensions: String?
    /// The body of a plain request, as JSON. With a body, the request is a `POST`.
    package var jsonBody: [UInt8]?
    /// Extra fields, sent after ours. Fields that the handshake writes itself are ignored here.
    package var headers: [(name: String, value: String)] = []

    /// Fields that only the handshake writes: a second one would change the handshake.
    private static let reserved = [
        "host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions",
        "sec-websocket-protocol", "content-length", "transfer-encoding",
    ]

    package init(target: String, host: String, key: String) {
        self.target = target
        self.host = host
        self.key = key
    }

    /// The same address requested by an ordinary `GET`, or by a `POST` where there is a body. The answer may be a stream, or may
    /// end the connection.
    package func plainRequest(accept: String) throws(RequestFault) -> [UInt8] {
        var fields = [(name: "Host", value: host), ("Accept", accept), ("Connection", "close")]
        guard let jsonBody else {
            return try ClientRequest.serialized(method: "GET", target: target, headers: fields + freeHeaders)
        }
        fields += [("Content-Type", "application/json"), ("Content-Length", String(jsonBody.count))]
        return try ClientRequest.serialized(method: "POST", target: target, headers: fields + freeHeaders) + jsonBody
    }

    private var freeHeaders: [(name: String, value: String)] {
        headers.filter { header in
            !Self.reserved.contains { Array(header.name.utf8)[...].equalsIgnoringCase($0) }
        }
    }

    package func serialized() throws(RequestFault) -> [UInt8] {
        var fields = [
            (name: "Host", value: host), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", key), ("Sec-WebSocket-Version", String(version)),
        ]
        if !protocols.isEmpty { fields.append(("Sec-WebSocket-Protocol", protocols.joined(separator: ", "))) }
        if let extensions { fields.append(("Sec-WebSocket-Extensions", extensions)) }
        fields += freeHeaders
        return try ClientRequest.serialized(method: "GET", target: target, headers: fields)
    }
}

/// Why a 101 is not the answer to our handshake (RFC 6455 §4.1, the list at its end).
package enum UpgradeFault: Error, Equatable, Sendable {
    case upgradeMissing
    case connectionMissing
    case acceptMissing
    case acceptWrong
    case subprotocolNotOffered(String)
    case extensionsNotOffered
}

/// The result of a 101.
package struct UpgradeAgreement: Sendable, Equatable {
    package let subprotocol: String?
    /// The values of `Sec-WebSocket-Extensions`, joined; nil when the server chose none.
    package let extensions: String?
}

extension UpgradeOffer {
    /// Checks the head of a 101 against what was offered.
    ///
    /// - Parameter accept: base64 of the SHA-1 of ``WebSocketKey/acceptInput(_:)``.
    package func agreement(in head: ResponseHead, accept: String) throws(UpgradeFault) -> UpgradeAgreement {
        let headers = head.headers
        guard let upgrade = headers.only("upgrade"), upgrade.equalsIgnoringCase("websocket") else {
            throw .upgradeMissing
        }
        guard headers.containsToken("upgrade", in: "connection") else { throw .connectionMissing }
        guard let answer = headers.only("sec-websocket-accept") else { throw .acceptMissing }
        guard answer.equals(accept) else { throw .acceptWrong }
        let chosen = headers.all("sec-websocket-protocol")
        if let subprotocol = chosen.first {
            guard chosen.count == 1, protocols.contains(where: subprotocol.equals) else {
                throw .subprotocolNotOffered(String(decoding: subprotocol, as: UTF8.self))
            }
        }
        let extensions = headers.list("sec-websocket-extensions").map { String(decoding: $0, as: UTF8.self) }
        guard extensions.isEmpty || self.extensions != nil else { throw .extensionsNotOffered }
        return UpgradeAgreement(
            subprotocol: chosen.first.map { String(decoding: $0, as: UTF8.self) },
            extensions: extensions.isEmpty ? nil : extensions.joined(separator: ", "))
    }
}
