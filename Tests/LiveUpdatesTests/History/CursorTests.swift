import Testing

@testable import LiveUpdates

struct CursorTests {
    static let cursor = Cursor(
        epoch: Epoch(number: 0x1234_5678), accountCheck: 0x9ABC_DEF0, issue: 1_795_240_000_000,
        topicsKnown: 1_795_240_000_000 - 1_500,
        positions: [
            Cursor.Position(
                partition: PartitionName(topic: 1, number: 42), offset: 9_876_543_210, known: 1_795_239_998_500)
        ],
        fingerprint: Cursor.Fingerprint(
            partition: PartitionName(topic: 1, number: 42), offset: 9_876_543_200, timestamp: 1_795_239_000_000))

    @Test func `a cursor of one partition has at most 64 characters and is read as it was written`() {
        let text = Self.cursor.text
        #expect(text.bytes.count <= 64)
        #expect(Cursor(text.bytes) == Self.cursor)
    }

    @Test func `the text of a cursor stays as it is`() {
        #expect(
            String(decoding: Self.cursor.text.bytes, as: UTF8.self)
                == "ARI0VniavN7wAaH8pHoABdwBASrqrcDlJAXcAQmnZodT0kDA")
    }

    @Test func `a change of any character makes it unreadable`() {
        let text = Self.cursor.text.bytes
        for place in text.indices {
            for byte in UInt8.min ... .max where byte != text[place] {
                var changed = text
                changed[place] = byte
                #expect(Cursor(changed) == nil)
            }
        }
    }
}
