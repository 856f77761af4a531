import LiveUpdates
import Testing

struct ControlMessageTests {
    static let at = Array("AZaz09-_".utf8)

    static let rows: [(message: ControlMessage, text: String, inside: String)] = [
        (.live(at: at), #"{"live":{"at":"AZaz09-_"}}"#, #"{"at":"AZaz09-_"}"#),
        (.beat(at: at), #"{"beat":{"at":"AZaz09-_"}}"#, #"{"at":"AZaz09-_"}"#),
        (
            .resync(.expired, at: at), #"{"resync":{"why":"expired","at":"AZaz09-_"}}"#,
            #"{"why":"expired","at":"AZaz09-_"}"#
        ),
        (
            .source(.stalled(since: 1_795_240_000_000)), #"{"source":{"state":"stalled","ts":1795240000000}}"#,
            #"{"state":"stalled","ts":1795240000000}"#
        ),
        (.source(.live(since: 7)), #"{"source":{"state":"live","ts":7}}"#, #"{"state":"live","ts":7}"#),
        (
            .bye(code: 1012, why: "restart", retryMilliseconds: 8123),
            #"{"bye":{"code":1012,"why":"restart","retry_ms":8123}}"#,
            #"{"code":1012,"why":"restart","retry_ms":8123}"#
        ),
        (
            .bye(code: 4409, why: "too slow", retryMilliseconds: nil), #"{"bye":{"code":4409,"why":"too slow"}}"#,
            #"{"code":4409,"why":"too slow"}"#
        ),
        (.expiring(at: 1_795_243_600), #"{"expiring":{"exp":1795243600}}"#, #"{"exp":1795243600}"#),
        (.token(endsAt: 1_795_247_200), #"{"token":{"exp":1795247200}}"#, #"{"exp":1795247200}"#),
        (.token(endsAt: nil), #"{"token":{}}"#, "{}"),
        (.changed(at: at), #"{"changed":true,"at":"AZaz09-_"}"#, #"{"at":"AZaz09-_"}"#),
    ]

    @Test(arguments: rows.indices) func `a control message is the one of the protocol, byte by byte`(row: Int) {
        var bytes = Array("x".utf8)
        WireMessage.appendControl(Self.rows[row].message, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "x" + Self.rows[row].text)
        bytes = []
        WireMessage.appendInside(of: Self.rows[row].message, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == Self.rows[row].inside)
    }

    @Test func `every reason of a resync has the word of the protocol`() {
        #expect(ResyncReason.allCases.map(\.rawValue) == ["invalid", "epoch", "expired", "ahead"])
    }

    static let aid = ArchiveID(stamp: 1_795_240_000_000, topic: 1, partition: 2, offset: 3, check: 4)

    @Test func `cursor, time stamp and id in the archive stand behind the three keys, each where it is given`() {
        func text(at: [UInt8]?, ts: Int64?, aid: ArchiveID? = nil) -> String {
            var bytes: [UInt8] = []
            WireMessage.append(ThinEvent(entity: "e", id: "i", type: "t"), at: at, ts: ts, aid: aid, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        let plain = #"{"ent":"e","id":"i","type":"t""#
        #expect(text(at: nil, ts: nil) == plain + "}")
        #expect(text(at: Self.at, ts: nil) == plain + #","at":"AZaz09-_"}"#)
        #expect(text(at: nil, ts: 1_795_240_000_000) == plain + #","ts":1795240000000}"#)
        #expect(text(at: Self.at, ts: -1) == plain + #","at":"AZaz09-_","ts":-1}"#)
        let aid = #","aid":"-P6wd6c0-----F----7----------k---------3"}"#
        #expect(text(at: nil, ts: nil, aid: Self.aid) == plain + aid)
        #expect(text(at: Self.at, ts: 5, aid: Self.aid) == plain + #","at":"AZaz09-_","ts":5"# + aid)
    }

    @Test func `a page has its events, the next cursor and whether there is more`() {
        let empty = SyncPage().finished(at: Self.at, more: false)
        #expect(String(decoding: empty, as: UTF8.self) == #"{"events":[],"at":"AZaz09-_","more":false}"#)
        var page = SyncPage()
        page.append(ThinEvent(entity: "e", id: "1", type: "t"), at: Array("a".utf8), ts: 5, aid: nil)
        page.append(ThinEvent(entity: "e", id: "\n", type: "t"), at: Array("b".utf8), ts: 6, aid: Self.aid)
        let text = String(decoding: page.finished(at: Self.at, more: true), as: UTF8.self)
        let first = #"{"ent":"e","id":"1","type":"t","at":"a","ts":5}"#
        let second = #"{"ent":"e","id":"\n","type":"t","at":"b","ts":6,"aid":""# + Self.aid.text + #""}"#
        #expect(text == #"{"events":["# + first + "," + second + #"],"at":"AZaz09-_","more":true}"#)
    }
}
