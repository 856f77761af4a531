import Testing

@testable import Gateway

struct DemoFilesTests {
    @Test func `each file has its type, its tag and a policy that names the gateway`() throws {
        let files = DemoFiles()
        #expect(files.paths.contains("/") && files.paths.contains { $0.hasPrefix("/LiveClientJS/") })
        for path in files.paths {
            let request = try IncidentAPITests.request("GET", path)
            let answer = try #require(files.answer(request, gateway: .loopback(port: 8080)))
            #expect(answer.status == 200 && !IncidentAPITests.text(answer).isEmpty)
            let tag = try #require(IncidentAPITests.field("ETag", answer))
            let known = try IncidentAPITests.request("GET", path, ["If-None-Match: \(tag)"])
            #expect(files.answer(known, gateway: .loopback(port: 8080))?.status == 304)
            let policy = IncidentAPITests.field("Content-Security-Policy", answer) ?? ""
            #expect(policy.contains("connect-src 'self' http://127.0.0.1:8080 ws://127.0.0.1:8080;"))
            #expect(!policy.contains("unsafe") && policy.hasPrefix("default-src 'none'"))
            let kinds = ["/": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"]
            let kind = kinds.first { path.hasSuffix($0.key) }?.value
            #expect(kind.map(answer.contentType.hasPrefix) == true, "\(path) is \(answer.contentType)")
        }
    }

    @Test func `what is no file is not answered`() throws {
        for path in ["/index.html", "/DemoPage", "/DemoPage/page/../DemoPage.c", "//"] {
            let request = try IncidentAPITests.request("GET", path)
            #expect(DemoFiles().answer(request, gateway: .loopback(port: 8080)) == nil)
        }
    }
}
