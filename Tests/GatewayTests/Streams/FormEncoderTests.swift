import LiveUpdates
import Testing

@testable import Gateway

struct FormEncoderTests {
    static let at = Array("AZaz09-_".utf8)

    private func text(_ event: ThinEvent, withAt: Bool = false, ts: Int64? = nil, aid: ArchiveID? = nil) -> String {
        var bytes: [UInt8] = []
        EventStreamEncoder.append(event, id: Self.at, withAt: withAt, ts: ts, aid: aid, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a message is its cursor and its three keys, and what was asked for`() {
        let event = ThinEvent(entity: "e", id: "i", type: "t")
        #expect(text(event) == "id: AZaz09-_\ndata: {\"ent\":\"e\",\"id\":\"i\",\"type\":\"t\"}\n\n")
        #expect(
            text(event, withAt: true, ts: 5)
                == "id: AZaz09-_\ndata: {\"ent\":\"e\",\"id\":\"i\",\"type\":\"t\",\"at\":\"AZaz09-_\",\"ts\":5}\n\n")
        let aid = ArchiveID(stamp: 5, topic: 1, partition: 2, offset: 3, check: 4)
        #expect(
            text(event, aid: aid)
                == "id: AZaz09-_\ndata: {\"ent\":\"e\",\"id\":\"i\",\"type\":\"t\",\"aid\":\"\(aid.text)\"}\n\n")
    }

    /// Whoever asks for the id and whoever does not are told of the same events, each form in its own bytes.
    @Test func `each form of a batch has what it asks for, and the id is that of the account's record`() {
        let encoder = FormEncoder(ids: ArchiveIDs(topics: ["s", "t"]))
        let event = LoggedEvent(
            event: ThinEvent(entity: "e", id: "i", type: "t"), partition: PartitionName(topic: 1, number: 2), offset: 3,
            timestamp: 4, sequence: 5, at: Self.at)
        for account in [Account("A"), Account("B")] {
            encoder.begin([event], of: account)
            let aid = ArchiveID(
                stamp: 4, topic: ArchiveID.hash(ofTopic: "t"), partition: 2, offset: 3,
                check: ArchiveID.hash(of: event.event, account: account))
            for withAt in [false, true] {
                for withTs in [false, true] {
                    for withAid in [false, true] {
                        let form = StreamForm(withAt: withAt, withTs: withTs, withAid: withAid)
                        let text =
                            #"{"ent":"e","id":"i","type":"t""# + (withAt ? #","at":"AZaz09-_""# : "")
                            + (withTs ? #","ts":4"# : "") + (withAid ? ",\"aid\":\"\(aid.text)\"" : "") + "}"
                        #expect(String(decoding: encoder.all(form).dropFirst(2), as: UTF8.self).hasSuffix(text))
                        #expect(encoder.some([0], form) == encoder.all(form))
                        #expect(encoder.page([event], of: account, form) == encoder.all(form))
                    }
                }
            }
        }
    }

    static let controls: [(message: ControlMessage, text: String)] = [
        (.live(at: at), "event: live\nid: AZaz09-_\ndata: {\"at\":\"AZaz09-_\"}\n\n"),
        (.beat(at: at), "event: beat\nid: AZaz09-_\ndata: {\"at\":\"AZaz09-_\"}\n\n"),
        (
            .resync(.expired, at: at),
            "event: resync\nid: AZaz09-_\ndata: {\"why\":\"expired\",\"at\":\"AZaz09-_\"}\n\n"
        ),
        (.source(.stalled(since: 5)), "event: source\ndata: {\"state\":\"stalled\",\"ts\":5}\n\n"),
        (
            .bye(code: 1012, why: "restart", retryMilliseconds: 9),
            "event: bye\ndata: {\"code\":1012,\"why\":\"restart\",\"retry_ms\":9}\n\n"
        ),
        (.changed(at: at), "event: changed\nid: AZaz09-_\ndata: {\"at\":\"AZaz09-_\"}\n\n"),
    ]

    @Test(arguments: controls.indices) func `a control message has its name as the event`(row: Int) {
        var bytes: [UInt8] = []
        EventStreamEncoder.appendControl(Self.controls[row].message, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == Self.controls[row].text)
    }

    /// Every control character, alone, doubled, before and behind what would be a field, in each place of a record.
    @Test func `nothing of a record can end a line or make a field`() {
        for point in Array(UInt32(0)..<0x20) + [0x7F, 0x85, 0x2028, 0x2029, 0xFEFF] {
            guard let scalar = Unicode.Scalar(point) else { continue }
            let sign = String(scalar)
            for text in [
                sign, sign + sign, "a\(sign)data: x", "\(sign)event: bye\(sign)id: y\(sign)\(sign)", "\r\n" + sign,
            ] {
                for index in 0..<3 {
                    let words = (0..<3).map { $0 == index ? text : "w" }
                    let stream = Array(
                        self.text(ThinEvent(entity: words[0], id: words[1], type: words[2]), withAt: true, ts: 1).utf8)
                    // Two lines and the empty one: id, data, end.
                    #expect(stream.filter { $0 == 0x0A }.count == 3, "U+\(String(point, radix: 16))")
                    #expect(!stream.contains(0x0D) && !stream.contains(0), "U+\(String(point, radix: 16))")
                    let lines = stream.split(separator: 0x0A, omittingEmptySubsequences: false)
                    #expect(lines[0].starts(with: "id: ".utf8) && lines[1].starts(with: "data: {".utf8))
                    #expect(lines[2].isEmpty && lines[3].isEmpty && lines.count == 4)
                }
            }
        }
    }
}
