import Testing

@testable import HTTP

@Suite struct `Cookies in a request` {
    static let rows: [(fields: [String], value: Cookies.Value)] = [
        ([], .absent), ([""], .absent), (["other=1"], .absent), (["t"], .absent), (["T=1"], .absent),
        (["xt=1"], .absent),
        (["t=1"], .one(Array("1".utf8))), (["t="], .one([])), (["t=\"a\""], .one(Array("a".utf8))),
        (["t=\""], .one(Array("\"".utf8))), (["t=\"\""], .one([])), (["t=\"a"], .one(Array("\"a".utf8))),
        (["a=1; t=2; b=3"], .one(Array("2".utf8))), (["a=1;t=2"], .one(Array("2".utf8))),
        (["a=1; t = 2 ;b"], .one(Array("2".utf8))), (["t=a=b=="], .one(Array("a=b==".utf8))),
        (["a=1", "t=2"], .one(Array("2".utf8))), (["a=\"x; t=2\""], .one(Array("2\"".utf8))),
        (["t=1; t=1"], .repeated), (["t=1; a=2; t=3"], .repeated), (["t=1", "t=2"], .repeated), (["t=;t="], .repeated),
    ]

    @Test(arguments: rows) func `are found by their name`(_ fields: [String], _ value: Cookies.Value) {
        var headers = HeaderFields()
        for field in fields { headers.append("Cookie", field) }
        #expect(Cookies.value("t", in: headers) == value, "\(fields)")
    }

    @Test func `have names of the letters of a token`() {
        for name in ["t", "__Host-session", "a.b"] { #expect(Cookies.isName(name)) }
        for name in ["", "a b", "a=b", "a;b", "a,b", "\"a\"", "\u{e9}"] { #expect(!Cookies.isName(name)) }
    }
}
