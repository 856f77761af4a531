/// Which pages may send requests, and which fields their browsers need in an answer to let them read it (Fetch Standard §3.2).
package struct CrossOrigin: Sendable {
    /// Who sends the request, according to the field `Origin`.
    package enum Caller: Sendable, Equatable {
        /// There is no `Origin`, so no page of another site made a browser ask.
        case noOrigin
        /// A page whose origin is in the list.
        case listed(String)
        /// Any other origin.
        case refused
    }

    package typealias Fields = [(String, String)]

    private let exact: Set<[UInt8]>
    private let wildcards: [OriginPattern]
    private let allowsCredentials: Bool
    /// The fields of an answer to an invalid request, and to a caller that is not a page of the list.
    package let commonFields: Fields

    /// - Parameters:
    ///   - origins: the pages that may send requests. Without any, the field `Origin` is ignored.
    ///   - allowsCredentials: whether a page may let its browser add cookies.
    package init(_ origins: [OriginPattern] = [], allowsCredentials: Bool = false) {
        exact = Set(origins.filter { !$0.isWildcard }.map { Array($0.text.utf8) })
        wildcards = origins.filter(\.isWildcard)
        self.allowsCredentials = allowsCredentials
        // Also for answers that name no origin: a cache must not give one page the answer to another.
        commonFields = origins.isEmpty ? [] : [("Vary", "Origin")]
    }

    /// Whether the origin of a request is checked at all.
    package var isOn: Bool { !exact.isEmpty || !wildcards.isEmpty }

    package func caller(_ headers: HeaderFields) -> Caller {
        guard isOn else { return .noOrigin }
        let values = headers.all("origin")
        guard let origin = values.first else { return .noOrigin }
        guard values.count == 1, exact.contains(Array(origin)) || wildcards.contains(where: { $0.matches(origin) })
        else { return .refused }
        return .listed(String(decoding: origin, as: UTF8.self))
    }

    /// The fields of every answer to this caller, and of refusals too: a page cannot read an answer without them.
    package func fields(_ caller: Caller) -> Fields {
        guard case .listed(let origin) = caller else { return commonFields }
        var fields = [("Access-Control-Allow-Origin", origin)]
        if allowsCredentials { fields.append(("Access-Control-Allow-Credentials", "true")) }
        // Of the fields that clients act on, this is the only one that pages do not see by default.
        fields.append(("Access-Control-Expose-Headers", "Retry-After"))
        return fields + commonFields
    }

    /// The fields of the answers to a page that is not listed: the refusal, and the answer to its browser's preflight.
    /// The page can read that it is refused, and nothing else. No credentials: no foreign page may read an answer to a cookie.
    package var foreignFields: Fields { [("Access-Control-Allow-Origin", "*")] + commonFields }

    /// Whether a browser asks what a page may request (preflight).
    package func isPreflight(_ head: RequestHead) -> Bool {
        isOn && head.method == "OPTIONS" && head.headers.contains("access-control-request-method")
    }

    /// The answer to a preflight, the same for all addresses.
    package static func preflightAnswer(date: String?, fields: Fields, keepsAlive: Bool) -> [UInt8] {
        var text = "HTTP/1.1 204 No Content\r\n"
        if let date { text += "Date: \(date)\r\n" }
        text += "Access-Control-Allow-Methods: GET, POST\r\n"
        text += "Access-Control-Allow-Headers: Authorization, Last-Event-ID, Content-Type\r\n"
        // Browsers would accept a longer maximum age, but a changed list should take effect soon.
        text += "Access-Control-Max-Age: 600\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if !keepsAlive { text += "Connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
