/// Which pages may ask, and what their browsers need in an answer to let them read it (Fetch Standard §3.2).
package struct CrossOrigin: Sendable {
    /// Who asks, as the field `Origin` tells.
    package enum Caller: Sendable, Equatable {
        /// There is no `Origin`, so no page of another site made a browser ask.
        case noOrigin
        /// A page of this origin, which the list has.
        case listed(String)
        /// Any other.
        case refused
    }

    package typealias Fields = [(String, String)]

    private let exact: Set<[UInt8]>
    private let wildcards: [OriginPattern]
    private let allowsCredentials: Bool
    /// The fields of an answer to a request that cannot be read, and to whoever is no page of the list.
    package let commonFields: Fields

    /// - Parameters:
    ///   - origins: the pages that may ask. Without any the field `Origin` is not looked at.
    ///   - allowsCredentials: whether a page may let its browser add cookies.
    package init(_ origins: [OriginPattern] = [], allowsCredentials: Bool = false) {
        exact = Set(origins.filter { !$0.isWildcard }.map { Array($0.text.utf8) })
        wildcards = origins.filter(\.isWildcard)
        self.allowsCredentials = allowsCredentials
        // Also where nobody is named: a cache must not give one page the answer to another.
        commonFields = origins.isEmpty ? [] : [("Vary", "Origin")]
    }

    /// Whether pages of other origins are looked at at all.
    package var isOn: Bool { !exact.isEmpty || !wildcards.isEmpty }

    package func caller(_ headers: HeaderFields) -> Caller {
        guard isOn else { return .noOrigin }
        let values = headers.all("origin")
        guard let origin = values.first else { return .noOrigin }
        guard values.count == 1, exact.contains(Array(origin)) || wildcards.contains(where: { $0.matches(origin) })
        else { return .refused }
        return .listed(String(decoding: origin, as: UTF8.self))
    }

    /// The fields of every answer to this caller, refusals as well: a page cannot read what has none.
    package func fields(_ caller: Caller) -> Fields {
        guard case .listed(let origin) = caller else { return commonFields }
        var fields = [("Access-Control-Allow-Origin", origin)]
        if allowsCredentials { fields.append(("Access-Control-Allow-Credentials", "true")) }
        // Of the fields that clients act on, the one that pages do not see unasked.
        fields.append(("Access-Control-Expose-Headers", "Retry-After"))
        return fields + commonFields
    }

    /// The fields of the refusal of a page that is not listed, and of what its browser asks before: it can read that it is refused,
    /// and nothing else. Without credentials: whoever shows a cookie shows it to no foreign page.
    package var foreignFields: Fields { [("Access-Control-Allow-Origin", "*")] + commonFields }

    /// Whether a browser asks what a page may ask.
    package func isPreflight(_ head: RequestHead) -> Bool {
        isOn && head.method == "OPTIONS" && head.headers.contains("access-control-request-method")
    }

    /// The answer to it, the same for all addresses.
    package static func preflightAnswer(date: String?, fields: Fields, keepsAlive: Bool) -> [UInt8] {
        var text = "HTTP/1.1 204 No Content\r\n"
        if let date { text += "Date: \(date)\r\n" }
        text += "Access-Control-Allow-Methods: GET, POST\r\n"
        text += "Access-Control-Allow-Headers: Authorization, Last-Event-ID, Content-Type\r\n"
        // What browsers keep of it at most is longer; a list that was changed should count soon.
        text += "Access-Control-Max-Age: 600\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if !keepsAlive { text += "Connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
