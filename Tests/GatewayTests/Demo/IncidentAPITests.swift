// Tests: AnsweredRequests.swift, DemoSite.swift

import HTTP
import Testing

@testable import Gateway

struct IncidentAPITests {
    static func request(
        _ method: String, _ target: String, _ fields: [String] = [], body: String = ""
    ) throws -> AdminRequest {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        let head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
        let text = head + (fields + length).map { $0 + "\r\n" }.joined() + "\r\n" + body
        var reader = AdminRequestReader()
        guard case .request(let request, _) = reader.consume(Array(text.utf8).span) else {
            throw MalformedHead(text: text)
        }
        return request
    }

    static func text(_ answer: AdminAnswer) -> String {
        guard case .bytes(let bytes) = answer.body else { return "pages" }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func field(_ name: String, _ answer: AdminAnswer) -> String? {
        answer.fields.first { $0.0 == name }?.1
    }

    /// An API with the incidents A, B and C of an account, and one of another.
    struct Product {
        var api = IncidentAPI(accounts: ["ONE", "TWO"], seed: 1)
        var published: [FeedChange] = []

        init() {
            for id in ["A", "B", "C"] { _ = api.follow(IncidentBookTests.created(id), of: "ONE", at: 1_000) }
            _ = api.follow(IncidentBookTests.created("OTHER"), of: "TWO", at: 1_000)
        }

        mutating func ask(
            _ method: String, _ target: String, _ fields: [String] = [], body: String = ""
        ) throws -> AdminAnswer {
            let request = try IncidentAPITests.request(method, target, fields, body: body)
            let (answer, changes) = api.answer(request, account: "ONE", person: "me", at: 2_000)
            published += changes
            return answer
        }
    }

    @Test(arguments: [
        ("GET", "/api/incidents", 200), ("HEAD", "/api/incidents", 200), ("GET", "/api/incidents/A", 200),
        ("GET", "/api/incidents/OTHER", 404), ("POST", "/api/incidents/OTHER/resolve", 404),
        ("GET", "/api/incidents/", 404), ("GET", "/api/incidentsA", 404), ("GET", "/api", 404),
        ("GET", "/api/incidents/A/resolve", 405), ("PUT", "/api/incidents", 405), ("DELETE", "/api/incidents/A", 405),
        ("POST", "/api/incidents/A/explode", 404), ("GET", "/api/incidents/A/B/C", 404),
        ("GET", "/api/incidents?limit=0", 400), ("GET", "/api/incidents?limit=1", 200),
        ("GET", "/api/incidents?limit=100", 200), ("GET", "/api/incidents?limit=101", 400),
        ("GET", "/api/incidents?order=x", 400), ("GET", "/api/incidents?status=x", 400),
        ("GET", "/api/incidents?from=NONE", 404), ("GET", "/api/incidents?from=A&from=B", 400),
        ("POST", "/api/incidents/A/notes", 400), ("POST", "/api/incidents/A/acknowledge", 200),
    ]) func `each request has its status`(_ method: String, _ target: String, _ status: Int) throws {
        var product = Product()
        #expect(try product.ask(method, target).status == status)
    }

    @Test func `a list has its page and nothing of another account`() throws {
        var product = Product()
        let text = Self.text(try product.ask("GET", "/api/incidents?limit=2"))
        #expect(text.contains("\"id\":\"C\"") && text.contains("\"id\":\"B\"") && !text.contains("\"id\":\"A\""))
        #expect(text.contains("\"more\":true") && !text.contains("OTHER"))
        let rest = Self.text(try product.ask("GET", "/api/incidents?from=B&limit=2"))
        #expect(rest.contains("\"id\":\"A\"") && rest.contains("\"more\":false"))
    }

    @Test func `a tag changes with what it stands for, and who has it gets nothing again`() throws {
        var product = Product()
        let tag = try #require(Self.field("ETag", try product.ask("GET", "/api/incidents/A")))
        for given in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
            let answer = try product.ask("GET", "/api/incidents/A", ["If-None-Match: \(given)"])
            #expect(answer.status == 304 && Self.text(answer).isEmpty && Self.field("ETag", answer) == tag)
        }
        let head = answerText(try product.ask("GET", "/api/incidents/A", ["If-None-Match: \(tag)"]))
        #expect(head.hasPrefix("HTTP/1.1 304 Not Modified\r\n") && !head.contains("Content-Length"))
        _ = try product.ask("POST", "/api/incidents/A/acknowledge")
        let changed = try product.ask("GET", "/api/incidents/A", ["If-None-Match: \(tag)"])
        #expect(changed.status == 200 && Self.field("ETag", changed) != tag)
    }

    private func answerText(_ answer: AdminAnswer) -> String {
        String(
            decoding: answer.serialized(date: "now", withoutBody: false, keepsAlive: true, isChunked: true),
            as: UTF8.self)
    }

    @Test func `a key is carried out once, and only for what it came with`() throws {
        var product = Product()
        let key = ["Idempotency-Key: k1"]
        let body = "{\"content\":\"Looking.\"}"
        let first = try product.ask("POST", "/api/incidents/A/notes", key, body: body)
        let second = try product.ask("POST", "/api/incidents/A/notes", key, body: body)
        #expect(first.status == 200 && Self.text(first) == Self.text(second))
        #expect(Self.field("Idempotency-Replayed", first) == nil)
        #expect(Self.field("Idempotency-Replayed", second) == "true")
        #expect(product.published.map(\.type) == ["created", "annotated"])
        #expect(try product.ask("POST", "/api/incidents/A/notes", key, body: "{\"content\":\"x\"}").status == 422)
        #expect(try product.ask("POST", "/api/incidents/B/resolve", key).status == 422)
        for wrong in ["", String(repeating: "k", count: AnsweredRequests.maximumKeyBytes + 1)] {
            #expect(try product.ask("POST", "/api/incidents/B/resolve", ["Idempotency-Key: \(wrong)"]).status == 400)
        }
        let longest = String(repeating: "k", count: AnsweredRequests.maximumKeyBytes)
        #expect(try product.ask("POST", "/api/incidents/B/resolve", ["Idempotency-Key: \(longest)"]).status == 200)
    }

    @Test func `what is refused is refused again under its key`() throws {
        var product = Product()
        _ = try product.ask("POST", "/api/incidents/A/resolve")
        for _ in 0..<2 {
            #expect(try product.ask("POST", "/api/incidents/A/acknowledge", ["Idempotency-Key: k"]).status == 409)
        }
        #expect(product.published.map(\.type) == ["resolved"])
    }

    @Test func `of the keys the oldest go`() throws {
        var answered = AnsweredRequests()
        let request = try Self.request("POST", "/api/incidents/A/resolve")
        for number in 0...AnsweredRequests.maximumKeys {
            answered.keep(AdminAnswer(200, "\(number)"), to: "k\(number)", request)
            answered.keep(AdminAnswer(200, "\(number)"), to: "k\(number)", request)
        }
        #expect(answered.count == AnsweredRequests.maximumKeys)
        #expect(answered.answer(to: "k0", request) == nil)
        #expect(answered.answer(to: "k1", request) != nil)
    }

    @Test(arguments: [(1, 200), (1_000, 200), (1_001, 400)])
    func `a note has a length`(_ bytes: Int, _ status: Int) throws {
        var product = Product()
        let body = "{\"content\":\"\(String(repeating: "x", count: bytes))\"}"
        #expect(try product.ask("POST", "/api/incidents/A/notes", body: body).status == status)
    }
}

struct DemoSiteTests {
    static let bearer = "Authorization: Bearer geheim"

    /// A site with the incident A, and what it has published.
    final class Open {
        let site = DemoSite(DemoSite.Door(account: "ONE", token: "geheim"), accounts: ["ONE", "TWO"], seed: 1)
        var published: [String] = []

        init() {
            _ = site.follow(IncidentBookTests.created("A"), of: "ONE", at: 1_000)
            _ = site.follow(IncidentBookTests.created("OTHER"), of: "TWO", at: 1_000)
            site.gateway = .loopback(port: 8080)
            site.publish = { [unowned self] account, changes in published += changes.map { "\(account) \($0.type)" } }
        }

        func ask(_ method: String, _ target: String, _ fields: [String] = [bearer]) async throws -> AdminAnswer {
            let request = try IncidentAPITests.request(method, target, fields)
            do throws(AdminRefusal) {
                switch site.reply(to: request) {
                case .now(let answer): return answer
                case .later(let make): return try await make()
                }
            } catch {
                return error.answer
            }
        }
    }

    @Test(
        arguments: [
            ("GET", "/api/incidents", [bearer], 200), ("GET", "/api/incidents", [], 401),
            ("GET", "/api/incidents", ["Authorization: Bearer other"], 401),
            ("GET", "/api/incidents", ["Authorization: Basic geheim"], 401),
            ("GET", "/api/incidents", [bearer, bearer], 401), ("GET", "/api/incidents/OTHER", [bearer], 404),
            ("GET", "/elsewhere", [bearer], 404), ("GET", "/elsewhere", [], 401),
            ("POST", "/api/incidents/A/resolve", [bearer, "Origin: http://evil.example"], 403),
            ("GET", "/session", [], 200), ("POST", "/session", [], 405),
            ("GET", "/demo/trouble", [], 401), ("GET", "/demo/trouble", [bearer], 200),
            ("PUT", "/demo/trouble?slow=0", [bearer], 400), ("PUT", "/demo/trouble?slow=1", [bearer], 200),
            ("PUT", "/demo/trouble?slow=30000", [bearer], 200), ("PUT", "/demo/trouble?slow=30001", [bearer], 400),
            ("PUT", "/demo/trouble?fail=399", [bearer], 400), ("PUT", "/demo/trouble?fail=400", [bearer], 200),
            ("PUT", "/demo/trouble?fail_after=599", [bearer], 200),
            ("PUT", "/demo/trouble?fail_after=600", [bearer], 400),
            ("PUT", "/demo/trouble?broker=up", [bearer], 400), ("POST", "/demo/trouble", [bearer], 405),
        ] as [(String, String, [String], Int)])
    func `each request has its status`(
        _ method: String, _ target: String, _ fields: [String], _ status: Int
    ) async throws {
        #expect(try await Open().ask(method, target, fields).status == status)
    }

    @Test func `a page of a name that is not ours learns no token`() throws {
        let text = "GET /session HTTP/1.1\r\nHost: rebound.example\r\n\r\n"
        var reader = AdminRequestReader()
        guard case .request(let request, _) = reader.consume(Array(text.utf8).span) else {
            throw MalformedHead(text: text)
        }
        guard case .now(let answer) = Open().site.reply(to: request) else {
            Issue.record("it was answered later")
            return
        }
        #expect(answer.status == 421 && !IncidentAPITests.text(answer).contains("geheim"))
    }

    @Test func `what fails is not done, what fails afterwards is, and the key finds it`() async throws {
        let open = Open()
        let key = [Self.bearer, "Idempotency-Key: k"]
        #expect(try await open.ask("POST", "/api/incidents/A/acknowledge?fail=503", key).status == 503)
        #expect(open.published == [])
        #expect(try await open.ask("POST", "/api/incidents/A/acknowledge?fail_after=500", key).status == 500)
        #expect(open.published == ["ONE acknowledged"])
        let again = try await open.ask("POST", "/api/incidents/A/acknowledge", key)
        #expect(again.status == 200 && IncidentAPITests.field("Idempotency-Replayed", again) == "true")
        #expect(open.published == ["ONE acknowledged"])
    }

    @Test func `trouble is of all requests to the API until it is taken back, and a request's own comes first`()
        async throws
    {
        let open = Open()
        _ = try await open.ask("PUT", "/demo/trouble?fail=503")
        #expect(try await open.ask("GET", "/api/incidents").status == 503)
        #expect(try await open.ask("GET", "/api/incidents?fail=429").status == 429)
        #expect(try await open.ask("GET", "/session").status == 200)
        let state = IncidentAPITests.text(try await open.ask("GET", "/demo/trouble"))
        #expect(state == "{\"slow\":null,\"fail\":503,\"fail_after\":null,\"broker\":\"up\"}\n")
        _ = try await open.ask("DELETE", "/demo/trouble")
        #expect(try await open.ask("GET", "/api/incidents").status == 200)
    }

    @Test func `a slow answer is that of the moment in which it was asked for`() async throws {
        let open = Open()
        let request = try IncidentAPITests.request("GET", "/api/incidents?slow=1", [Self.bearer])
        let reply = open.site.reply(to: request)
        // What is done afterwards is not in it.
        _ = open.site.follow(
            IncidentBookTests.incident("A", "resolved", ["status": "resolved"]), of: "ONE", at: 2_000)
        guard case .later(let make) = reply else {
            Issue.record("it was answered at once")
            return
        }
        #expect(IncidentAPITests.text(try await make()).contains("triggered"))
    }

    @Test func `the broker is taken away and brought back once`() async throws {
        let open = Open()
        var switched: [Bool] = []
        open.site.setBroker = { switched.append($0) }
        for target in ["/demo/trouble?broker=down", "/demo/trouble?broker=down&slow=5"] {
            _ = try await open.ask("PUT", target)
        }
        _ = try await open.ask("DELETE", "/demo/trouble")
        _ = try await open.ask("DELETE", "/demo/trouble")
        #expect(switched == [false, true])
    }
}
