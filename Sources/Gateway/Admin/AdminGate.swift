import HTTP
import Reactor
import Tokens

/// Decides who may ask what on the administration address, from a request, the rows and the settings alone.
///
/// The checks have this order: `Host` is ours (a page may have its browser ask us under the page's own name), the caller has the
/// token, the path exists, no foreign page asks. Without the token no caller learns which paths exist.
package struct AdminGate: Sendable {
    private let token: AdminToken?
    /// In lower case.
    private let hosts: Set<String>

    /// - Parameter token: nil admits all clients that reach the address.
    package init(token: AdminToken? = nil, hosts: [String] = []) {
        self.token = token
        self.hosts = Set(hosts)
    }

    /// The row that answers, and the request as the row wants it.
    func admit(_ request: AdminRequest, rows: [AdminRow]) throws(AdminRefusal) -> (row: AdminRow, AdminRequest) {
        let there = rows.filter { $0.matches(request.head.path) }
        let access = there.first?.access ?? .protected
        if access != .probe { try checkHost(request.head) }
        if access == .protected, let token, !token.isGiven(in: request.head.headers.all("authorization")) {
            throw .unauthorized
        }
        guard !there.isEmpty else { throw .notFound }
        guard let row = there.first(where: { $0.method == request.method }) else {
            throw .methodNotAllowed(allow: Self.allow(there))
        }
        if row.method != "GET" { try checkOrigin(request.head) }
        return (row, try row.named(request))
    }

    private static func allow(_ rows: [AdminRow]) -> String {
        rows.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] }.joined(separator: ", ")
    }

    // MARK: - Host and Origin

    /// A target in absolute form replaces `Host` (RFC 9112 §3.2.2). Nil: a request of HTTP/1.0 without one.
    private func host(of head: RequestHead) -> HostName? {
        if let authority = head.authority { return HostName(authority) }
        return head.headers.first("host").map { HostName(String(decoding: $0, as: UTF8.self)) }
    }

    /// Refuses what was sent here under a name that is not ours.
    func checkHost(_ head: RequestHead) throws(AdminRefusal) {
        if let host = host(of: head), !isOurs(host) { throw .misdirected }
    }

    private func isOurs(_ host: HostName) -> Bool {
        host.name == "localhost" || hosts.contains(host.name) || host.isAddress
    }

    /// With each request that may change something, a browser names the page that asks.
    func checkOrigin(_ head: RequestHead) throws(AdminRefusal) {
        let origins = head.headers.all("origin")
        guard let first = origins.first else { return }
        let text = String(decoding: first, as: UTF8.self)
        // `null`, which a page without an address sends, has no scheme.
        guard origins.count == 1, let mark = text.firstRange(of: "://"), let host = host(of: head) else {
            throw .foreignOrigin
        }
        let defaultPort = ["http": "80", "https": "443"][text[..<mark.lowerBound].lowercased()]
        let origin = HostName(String(text[mark.upperBound...]))
        guard let defaultPort, origin.name == host.name, origin.port ?? defaultPort == host.port ?? defaultPort else {
            throw .foreignOrigin
        }
    }
}

/// `host[:port]`, in lower case.
private struct HostName {
    /// With the brackets of an IPv6 address.
    let name: String
    /// Nil where the text names none.
    let port: String?

    init(_ text: String) {
        let text = text.lowercased()
        let end = text.last == "]" ? nil : text.lastIndex(of: ":")
        name = end.map { String(text[..<$0]) } ?? text
        let port = end.map { String(text[text.index(after: $0)...]) } ?? ""
        self.port = port.isEmpty ? nil : port
    }

    /// No browser can be led here under an address, only under a name that resolves to one of ours.
    var isAddress: Bool {
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        let bare = isBracketed ? String(name.dropFirst().dropLast()) : name
        return switch SocketAddress(numeric: bare, port: 0) {
        case .ipv4: !isBracketed
        case .ipv6: isBracketed
        default: false
        }
    }
}
