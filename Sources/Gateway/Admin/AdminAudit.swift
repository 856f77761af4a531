import Balancer
import HTTP
import Logging

/// The log line of a request that may change something: who asked, for what, with which answer. Its time is that of the line.
///
/// Requests that were not admitted have none: any peer that reaches the address could fill the log with them. Requests that only
/// read have none either.
struct AdminAudit: Sendable {
    /// Parameters that name the object of a request; the line repeats no others.
    private static let parameters: [(name: String, key: LogKey)] = [
        ("account", .account), ("subject", .subject), ("window", .window),
    ]

    private let method: String
    private let path: String
    private let peer: ClientAddress
    private let named: [LogKey: LogValue]

    /// Nil for a request that changes nothing.
    init?(_ request: AdminRequest) {
        guard request.method != "GET" else { return nil }
        method = request.method
        path = request.head.path
        peer = request.peer
        var named: [LogKey: LogValue] = [:]
        for (name, key) in Self.parameters {
            guard case .one(let bytes) = request.parameters[name], let text = String(validating: bytes, as: UTF8.self)
            else { continue }
            named[key] = .text(text)
        }
        self.named = named
    }

    func facts(status: Int) -> Logger.Facts {
        [
            .peer: .text("\(peer)"), .method: .text(method), .path: .text(path), .status: .number(status),
            .account: named[.account] ?? .absent, .subject: named[.subject] ?? .absent,
            .window: named[.window] ?? .absent,
        ]
    }
}

extension Administration {
    /// Writes the line of an admitted request. Any thread.
    func audit(_ audit: AdminAudit?, status: Int) {
        guard let audit else { return }
        logger.notice("administration request", audit.facts(status: status))
    }
}
