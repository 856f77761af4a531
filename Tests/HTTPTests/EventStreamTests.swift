import HTTP
import Testing

@Suite struct `Event streams` {
    private func head(_ accept: String) throws -> RequestHead {
        var parser = RequestParser()
        let text = "GET /live/v1 HTTP/1.1\r\nHost: h\r\n\(accept)\r\n"
        guard case .head(let head, _) = parser.consume(Array(text.utf8).span) else { throw Malformed() }
        return head
    }

    private struct Malformed: Error {}

    @Test func `begin with a head without a length and the time to come back after`() {
        let bytes = EventStream.head(date: "Sun, 06 Nov 1994 08:49:37 GMT", retryMilliseconds: 1234)
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                HTTP/1.1 200 OK\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                Content-Type: text/event-stream\r
                Cache-Control: no-store\r
                X-Accel-Buffering: no\r
                Connection: close\r
                \r
                retry: 1234


                """)
    }

    @Test func `have their fields in the order event, id, data`() {
        var bytes: [UInt8] = []
        EventStream.begin(event: "resync", id: Array("c1".utf8), to: &bytes)
        bytes += Array("{}".utf8)
        EventStream.end(to: &bytes)
        EventStream.begin(event: nil, id: nil, to: &bytes)
        EventStream.end(to: &bytes)
        bytes += EventStream.comment
        #expect(String(decoding: bytes, as: UTF8.self) == "event: resync\nid: c1\ndata: {}\n\ndata: \n\n:\n\n")
    }

    @Test(arguments: [
        ("Accept: text/event-stream\r\n", true), ("accept: Text/Event-Stream\r\n", true),
        ("Accept: text/html, text/event-stream;q=0.5\r\n", true),
        ("Accept: text/html\r\nAccept: text/event-stream ; a=b\r\n", true), ("", false), ("Accept: */*\r\n", false),
        ("Accept: text/*\r\n", false), ("Accept: text/event-streams\r\n", false), ("Accept:\r\n", false),
        ("Accept: ;text/event-stream\r\n", false),
    ]) func `are asked for by their type and nothing wider`(_ accept: String, _ isAsked: Bool) throws {
        #expect(EventStream.isAsked(by: try head(accept)) == isAsked)
    }
}
