import HTTP
import Logging

/// One thing that the administration address answers: method, path, what it needs, and what answers.
struct AdminRow: Sendable {
    enum Access: Sendable {
        /// For balancers and orchestrators: under any `Host`, without the token.
        case probe
        /// A page without data, which asks for the token itself.
        case page
        /// With the token, where one is set.
        case protected
    }

    enum Answering: Sendable {
        /// On the administration's loop, from what is known there.
        case atOnce(@Sendable (Administration, AdminRequest) throws(AdminRefusal) -> AdminAnswer)
        /// Asks other loops, each with a deadline.
        case later(@Sendable (Administration, AdminRequest) async throws(AdminRefusal) -> AdminAnswer)
    }

    let method: String
    /// With a slash at its end a name follows.
    let path: String
    let access: Access
    let answering: Answering

    init(_ method: String, _ path: String, _ access: Access, _ answering: Answering) {
        self.method = method
        self.path = path
        self.access = access
        self.answering = answering
    }

    private var takesName: Bool { path.utf8.count > 1 && path.hasSuffix("/") }

    func matches(_ asked: String) -> Bool {
        guard takesName else { return asked == path }
        return asked.hasPrefix(path) && asked.utf8.count > path.utf8.count && !asked.dropFirst(path.count).contains("/")
    }

    /// The request with the name from its path.
    func named(_ request: AdminRequest) throws(AdminRefusal) -> AdminRequest {
        guard takesName else { return request }
        let bytes = Array(request.head.path.utf8.dropFirst(path.utf8.count))
        guard let decoded = PercentEncoding.decoded(bytes[...]), let name = String(validating: decoded, as: UTF8.self)
        else { throw .badParameter("The path is not percent-encoded UTF-8.") }
        var request = request
        request.name = name
        return request
    }
}

/// Everything that the administration address answers. Documentation and tests read it here.
enum AdminRows {
    static let all: [AdminRow] = [
        AdminRow("GET", "/livez", .probe, .atOnce { administration, _ in administration.livez() }),
        AdminRow("GET", "/readyz", .probe, .atOnce { administration, request in administration.readyz(request) }),
        AdminRow("GET", "/", .page, .atOnce { _, _ in StatusPage.answer }),
        AdminRow("GET", "/metrics", .protected, .later { administration, _ in await administration.metrics() }),
        AdminRow("GET", "/admin/status", .protected, .later { administration, _ in await administration.status() }),
        AdminRow("GET", "/admin/charts", .protected, .later { administration, _ in await administration.charts() }),
        AdminRow(
            "GET", "/admin/connections", .protected,
            .atOnce { administration, request throws(AdminRefusal) in try administration.connections(request) }),
        AdminRow(
            "GET", "/admin/accounts/", .protected,
            .later { administration, request throws(AdminRefusal) in try await administration.account(request) }),
        AdminRow(
            "GET", "/admin/kafka", .protected,
            .later { administration, _ throws(AdminRefusal) in try await administration.kafka() }),
        AdminRow(
            "POST", "/admin/disconnect", .protected,
            .later { administration, request throws(AdminRefusal) in try await administration.disconnect(request) }),
        AdminRow(
            "GET", "/admin/loglevel", .protected,
            .atOnce { administration, _ in AdminAnswer(200, administration.logger.level.name) }),
        AdminRow(
            "PUT", "/admin/loglevel", .protected,
            .atOnce { administration, request throws(AdminRefusal) in try administration.setLogLevel(request) }),
        AdminRow(
            "POST", "/admin/drain", .protected,
            .later { administration, request throws(AdminRefusal) in try await administration.drain(request) }),
        AdminRow(
            "POST", "/admin/undrain", .protected,
            .later { administration, _ throws(AdminRefusal) in try await administration.undrain() }),
    ]
}
