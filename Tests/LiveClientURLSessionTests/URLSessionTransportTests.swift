// Tests: URLSessionTransport.swift, TaskEvent.swift, QueueLoop.swift, TaskDelegate.swift
import Foundation
import HTTP
import LiveClient
import LiveState
import Testing

@testable import LiveClientURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct URLSessionTransportTests {
    static func request(_ address: String, _ form: StreamForm) throws -> StreamRequest {
        var request = StreamRequest(url: try WebSocketURL(address))
        request.form = form
        request.protocols = ["livegate.v1"]
        request.headers = [("Authorization", "Bearer secret")]
        return request
    }

    @Test func `requests are made of their form`() throws {
        let rows: [(String, StreamForm, String, [String: String])] = [
            (
                "wss://a.example/live/v1?with=at", .webSocket, "wss://a.example/live/v1?with=at",
                ["Sec-WebSocket-Protocol": "livegate.v1"]
            ),
            (
                "http://[::1]:8080/live/v1", .webSocket, "ws://[::1]:8080/live/v1",
                ["Sec-WebSocket-Protocol": "livegate.v1"]
            ),
            ("ws://a.example:81/live/v1", .eventStream, "http://a.example:81/live/v1", ["Accept": "text/event-stream"]),
            ("wss://a.example/sync/v1", .document, "https://a.example/sync/v1", ["Accept": "application/json"]),
        ]
        for (address, form, url, fields) in rows {
            let made = try #require(URLRequest(try Self.request(address, form)))
            #expect(made.url?.absoluteString == url && made.httpMethod == "GET" && made.httpBody == nil)
            #expect(made.allHTTPHeaderFields?.count == fields.count + 1)
            for (name, value) in fields.merging(["Authorization": "Bearer secret"], uniquingKeysWith: { $1 }) {
                #expect(made.value(forHTTPHeaderField: name) == value)
            }
        }
        #expect(URLRequest(try Self.request("ws+unix:/run/x:/live/v1", .webSocket)) == nil)
    }

    @Test func `a document is asked for with its body`() throws {
        var asked = try Self.request("https://a.example/inbox/v1/read", .document)
        asked.jsonBody = Array("{}".utf8)
        let made = try #require(URLRequest(asked))
        #expect(made.httpMethod == "POST" && made.httpBody == Data("{}".utf8))
        #expect(made.value(forHTTPHeaderField: "Content-Type") == "application/json")
    }

    @Test func `nothing of one request is kept for the next`() {
        let configuration = URLSessionNetwork.configuration()
        #expect(
            configuration.httpCookieStorage == nil && configuration.urlCache == nil
                && configuration.urlCredentialStorage == nil)
        #expect(!configuration.httpShouldSetCookies && configuration.httpCookieAcceptPolicy == .never)
    }

    @Test(arguments: [
        (POSIXError(.ECONNRESET) as any Error & Sendable, "lost cut"), (POSIXError(.ENOTCONN), "lost cut"),
        (POSIXError(.ENETDOWN), "lost unreachable"),
        (URLError(.appTransportSecurityRequiresSecureConnection), "invalid"),
        (URLError(.badURL), "invalid"),
    ])
    func `why a task failed is known by its error`(row: (error: any Error & Sendable, ending: String)) {
        #expect(Reports.text(TaskFailure(row.error).ending(wasAnswered: false)) == row.ending)
    }

    @Test func `behind its end a network opens nothing`() async {
        let network = URLSessionNetwork()
        let report = await withCheckedContinuation { done in
            network.loop.execute {
                network.loop.end()
                do {
                    var request = try Self.request("ws://a.example/live/v1", .document)
                    request.headers = []
                    _ = network.open(request) { done.resume(returning: Reports.text($0)) }
                } catch {
                    done.resume(returning: "\(error)")
                }
            }
        }
        #expect(report == "invalid")
    }

    @Test func `authorities of its own are refused in words`() {
        var configuration = LiveClientConfiguration(url: "wss://live.example/live/v1")
        configuration.certificateAuthorities = "/etc/ca.pem"
        #expect {
            try LiveClient(configuration) { "token" }
        } throws: { error in
            guard case LiveClientError.tls(let why) = error else { return false }
            return why.contains("certificateAuthorities is '/etc/ca.pem'")
        }
    }

    @Test func `an address that URLSession has no form of ends at once`() async throws {
        var configuration = LiveClientConfiguration(url: "ws+unix:/run/livegate:/live/v1")
        configuration.ways = [.webSocket]
        let client = try LiveClient(configuration) { "token" }
        await #expect(throws: LiveClientError.self) { for try await _ in client.updates {} }
    }

    @Test(
        arguments: [
            ("text/event-stream", true), ("Text/Event-Stream;charset=utf-8", true), ("text/event-stream ; x", true),
            ("text/event-streams", false), ("text/html", false), ("", false),
        ] as [(String, Bool)])
    func `an event stream has its type`(row: (type: String, isStream: Bool)) throws {
        let address = try #require(URL(string: "http://a.example/"))
        for status in [200, 204, 503] {
            let response = try #require(
                HTTPURLResponse(
                    url: address, statusCode: status, httpVersion: "HTTP/1.1",
                    headerFields: ["Content-Type": row.type, "Retry-After": "7"]))
            let head = AnswerHead(response)
            #expect(head.isEventStream == (row.isStream && status == 200))
            #expect(head.answer([], isTruncated: false).retryAfterMilliseconds == 7_000)
        }
    }
}

struct QueueLoopTests {
    @Test func `it does one thing after the other, and what was put off in its time`() async {
        let loop = QueueLoop {}
        let order: [Int] = await withCheckedContinuation { done in
            loop.execute {
                loop.preconditionOnLoop()
                var order: [Int] = []
                _ = loop.wait(milliseconds: 30) {
                    loop.preconditionOnLoop()
                    done.resume(returning: order + [4])
                }
                _ = loop.wait(milliseconds: 1) { order.append(3) }
                let cancelled = loop.wait(milliseconds: 0) { order.append(-1) }
                cancelled.cancel()
                loop.executeNextTick { order.append(2) }
                order.append(1)
            }
        }
        #expect(order == [1, 2, 3, 4])
    }

    @Test func `behind its end work is done, and nothing is waited for`() async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let loop = QueueLoop { end.yield() }
        let fired: [Int] = await withCheckedContinuation { done in
            loop.execute {
                var fired: [Int] = []
                _ = loop.wait(milliseconds: 1) { fired.append(1) }
                loop.end()
                loop.end()
                // Until the timer would have fired long ago, by the loop's own clock.
                let until = loop.now + 20
                func wait() {
                    if loop.now >= until { done.resume(returning: fired) } else { loop.executeNextTick(wait) }
                }
                wait()
            }
        }
        end.finish()
        var count = 0
        for await _ in ends { count += 1 }
        #expect(fired == [] && count == 1)
    }
}
