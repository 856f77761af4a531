// Tests: FetchRequest.swift, FetchThread.swift, Fetcher.swift

import TestHarness
import Testing

@testable import Fetching

/// What comes of a request, from servers of another make.
@Suite struct FetcherTests {
    static let plain = Result { try TestServer() }
    static let encrypted = Result { try TestServer(.local) }
    static let misnamed = Result { try TestServer(.elsewhere) }
    /// Ends tests that have failed.
    static let generous = 20_000

    private static func fetch(
        _ url: String, by fetcher: Fetcher? = nil, authorities: [UInt8]? = nil, headers: [String] = [],
        body: [UInt8]? = nil, limit: Int = 1 << 20, within milliseconds: Int = generous
    ) throws -> Result<String, FetchError> {
        let fetcher = try fetcher ?? Fetcher()
        let promise = Promise<Result<[UInt8], FetchError>>()
        fetcher.fetch(
            FetchRequest(
                url: url, authorities: authorities, headers: headers, body: body, maximumBytes: limit,
                timeoutMilliseconds: milliseconds)
        ) { promise.fulfil($0) }
        return try #require(promise.wait()).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func ask(
        _ path: String, limit: Int = 1 << 20, within milliseconds: Int = generous
    ) throws -> Result<String, FetchError> {
        try fetch("http://127.0.0.1:\(plain.get().port)\(path)", limit: limit, within: milliseconds)
    }

    @Test func `the body of an answer is given`() throws {
        #expect(try Self.ask("/fine") == .success("fine"))
    }

    @Test func `a body is posted with the headers that were given`() throws {
        let url = "http://localhost:\(try Self.plain.get().port)/echo"
        let answer = try Self.fetch(
            url, headers: ["Authorization: Basic YTpi"], body: Array("token=a%20b".utf8))
        #expect(
            try answer.get() == #"{"method": "POST", "body": "token=a%20b", "authorization": "Basic YTpi"}"#)
    }

    @Test(arguments: [204, 302, 404, 500])
    func `any other status than 200 is a failure`(status: Int) throws {
        #expect(try Self.ask("/status/\(status)") == .failure(.status(status)))
    }

    @Test func `a redirect is not followed`() throws {
        #expect(try Self.ask("/redirect") == .failure(.status(302)))
    }

    @Test(arguments: ["large", "chunked"])
    func `an answer may have as many bytes as the limit, and no more`(form: String) throws {
        #expect(try Self.ask("/\(form)/100000", limit: 100_000).get().utf8.count == 100_000)
        #expect(try Self.ask("/\(form)/100001", limit: 100_000) == .failure(.tooLarge(bytes: 100_000)))
    }

    @Test func `a head beyond its limit is a failure`() throws {
        #expect(try Self.ask("/head/60") == .success("fine"))
        #expect(try Self.ask("/head/66", limit: 10) == .failure(.tooLarge(bytes: 10)))
    }

    @Test func `an answer that does not come in time is a failure`() throws {
        #expect(try Self.ask("/never", within: 50) == .failure(.timedOut(milliseconds: 50)))
    }

    @Test(arguments: ["/cut", "/garbage"])
    func `what is no whole answer is a failure`(path: String) throws {
        guard case .failure(.broken) = try Self.ask(path) else {
            Issue.record("not broken")
            return
        }
    }

    @Test func `where nobody listens is nobody`() throws {
        guard case .failure(.unreachable) = try Self.fetch("http://127.0.0.1:1/") else {
            Issue.record("somebody answered")
            return
        }
    }

    // MARK: - TLS

    @Test func `a server that the authorities vouch for is asked`() throws {
        for host in ["127.0.0.1", "localhost"] {
            let url = "https://\(host):\(try Self.encrypted.get().port)/fine"
            #expect(try Self.fetch(url, authorities: TestCertificate.local.bytes) == .success("fine"))
        }
    }

    @Test func `a connection that was trusted by others is not used again`() throws {
        let (url, fetcher) = ("https://127.0.0.1:\(try Self.encrypted.get().port)/fine", try Fetcher())
        #expect(try Self.fetch(url, by: fetcher, authorities: TestCertificate.local.bytes) == .success("fine"))
        let others = try Self.fetch(url, by: fetcher, authorities: TestCertificate.elsewhere.bytes)
        guard case .failure(.notTrusted) = others else {
            Issue.record("it was asked")
            return
        }
        #expect(try Self.fetch(url, by: fetcher, authorities: TestCertificate.local.bytes) == .success("fine"))
    }

    @Test(arguments: [nil, TestCertificate.elsewhere.bytes, Array("no certificate".utf8)])
    func `a server that they do not vouch for is not asked`(authorities: [UInt8]?) throws {
        let url = "https://127.0.0.1:\(try Self.encrypted.get().port)/fine"
        guard case .failure(.notTrusted) = try Self.fetch(url, authorities: authorities) else {
            Issue.record("it was asked")
            return
        }
    }

    @Test func `a server with a certificate for another name is not asked`() throws {
        let url = "https://127.0.0.1:\(try Self.misnamed.get().port)/fine"
        guard case .failure(.notTrusted) = try Self.fetch(url, authorities: TestCertificate.elsewhere.bytes) else {
            Issue.record("it was asked")
            return
        }
    }

    // MARK: - Bounds

    @Test func `so many requests are open, the next is refused at once, and all end when it stops`() throws {
        let fetcher = try Fetcher()
        let url = "http://127.0.0.1:\(try Self.plain.get().port)/never"
        let results = Shared<[FetchError]>([])
        for _ in 0...Fetcher.maximumOpen {
            fetcher.fetch(FetchRequest(url: url, maximumBytes: 1, timeoutMilliseconds: Self.generous)) { result in
                if case .failure(let error) = result { results.update { $0.append(error) } }
            }
        }
        #expect(results.value == [.busy(limit: Fetcher.maximumOpen)])
        fetcher.stop()
        #expect(waitUntil { results.value.count == Fetcher.maximumOpen + 1 })
        #expect(results.value.dropFirst().allSatisfy { $0 == .stopped })
        #expect(try Self.fetch(url, by: fetcher) == .failure(.stopped))
    }

    @Test func `an end gives its turn to the next`() throws {
        let fetcher = try Fetcher()
        let url = "http://127.0.0.1:\(try Self.plain.get().port)/fine"
        for _ in 0..<2 * Fetcher.maximumOpen { #expect(try Self.fetch(url, by: fetcher) == .success("fine")) }
    }
}
