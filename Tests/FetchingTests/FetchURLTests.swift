import Testing

@testable import Fetching

@Suite struct FetchURLTests {
    @Test(arguments: [
        "https://id.example.com/keys", "https://id.example.com", "https://10.0.0.1:8443/a?b=c", "HTTPS://ID.EXAMPLE/",
        "https://[2001:db8::1]/keys", "http://localhost/keys", "http://LOCALHOST:8080/", "http://127.0.0.1/",
        "http://127.255.0.9:1/", "http://[::1]:8080/keys",
    ])
    func `https is asked, and http on this machine`(url: String) {
        #expect(FetchURL.problem(url) == nil)
    }

    @Test(arguments: [
        ("", "is not a URL"), ("keys.json", "is not a URL"), ("/keys.json", "is not a URL"),
        ("https://", "is not a URL"), ("https://a b/", "is not a URL"), ("https://a/\u{7}", "is not a URL"),
        ("https://a/\r\nX: y", "is not a URL"), ("https://ä.example/", "is not a URL"),
        ("file:///etc/passwd", "is not a URL"), ("ftp://a/", "neither https nor http"),
        ("http://id.example.com/keys", "is http"), ("http://127.evil.example/", "is http"),
        ("http://localhost.evil.example/", "is http"), ("http://10.0.0.1/", "is http"),
        ("http://[2001:db8::1]/", "is http"), ("http://127.0.0.1@evil.example/", "contains a user name"),
        ("https://me:secret@id.example.com/", "contains a user name"),
    ])
    func `anything else is not, and why`(url: String, why: String) throws {
        let problem = try #require(FetchURL.problem(url))
        #expect(problem.contains(why), "\(problem)")
    }
}
