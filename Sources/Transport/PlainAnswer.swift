/// What somebody hears who speaks HTTP to a TLS port: in plain text, since that is what they understand.
///
/// nginx does the same; without it a client sees a connection that closes for no reason. A constant, because nothing
/// of the request was read.
enum PlainAnswer {
    static let bytes: [UInt8] = {
        let body =
            #"{"type":"about:blank","title":"Bad Request","status":400,"code":"bad_request","#
            + #""detail":"Plain HTTP was sent to a port that speaks TLS: use https:// or wss://."}"#
        let head = [
            "HTTP/1.1 400 Bad Request", "Content-Type: application/problem+json",
            "Content-Length: \(body.utf8.count)", "Connection: close",
        ]
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }()
}
