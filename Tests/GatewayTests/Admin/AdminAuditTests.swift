// Tests: AdminAudit.swift

import Balancer
import HTTP
import Testing

@testable import Gateway

struct AdminAuditTests {
    /// The facts of a request's line that are there; nil where it has none.
    static func line(_ method: String, _ target: String, status: Int) throws -> String? {
        var request = try adminRequest(method, target, ["Host: localhost"])
        request.peer = ClientAddress.ipv4(0x0A00_0001)
        return AdminAudit(request)?.facts(status: status).filter { $0.value != .absent }
            .map { "\($0.key.name)=\($0.value)" }.joined(separator: " ")
    }

    static let rows: [(method: String, target: String, status: Int, line: [String]?)] = [
        ("GET", "/admin/status", 200, nil), ("HEAD", "/admin/status", 200, nil),
        ("POST", "/admin/undrain", 409, ["POST", "/admin/undrain", "409"]),
        ("POST", "/admin/drain?window=30s", 202, ["POST", "/admin/drain", "202", "window", "30s"]),
        (
            "POST", "/admin/disconnect?account=PACC1&subject=u%2042", 200,
            ["POST", "/admin/disconnect", "200", "account", "PACC1", "subject", "u 42"]
        ),
        // What is no parameter of ours, or twice, is not repeated.
        ("POST", "/admin/drain?token=geheim", 202, ["POST", "/admin/drain", "202"]),
        ("POST", "/admin/disconnect?account=A&account=B", 400, ["POST", "/admin/disconnect", "400"]),
        ("PUT", "/admin/loglevel", 200, ["PUT", "/admin/loglevel", "200"]),
    ]

    @Test(arguments: rows.indices) func `what may change something has a line: who asked for what`(row: Int) throws {
        let (method, target, status, words) = Self.rows[row]
        let line = try Self.line(method, target, status: status)
        guard let words else {
            #expect(line == nil)
            return
        }
        let text = try #require(line)
        for word in words + ["10.0.0.1"] { #expect(text.contains(word), "\(text) has no \(word)") }
        #expect(!text.contains("geheim") && !text.contains("account") == !words.contains("account"), "\(text)")
    }
}
