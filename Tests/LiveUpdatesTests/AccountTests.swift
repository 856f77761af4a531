// Tests: Bytewise.swift, ThinEvent.swift

import LiveUpdates
import Testing

struct AccountTests {
    /// Names that Swift takes for equal, and people may too.
    static let alike = [
        ("\u{E9}", "e\u{301}"), ("\u{212B}", "\u{C5}"), ("\u{1112}\u{1161}", "\u{D558}"), ("K", "\u{212A}"),
    ]

    @Test(arguments: alike) func `accounts that only look alike are two`(left: String, right: String) {
        #expect(left == right, "the point of the test")
        #expect(Account(left) != Account(right))
        #expect(Set([Account(left), Account(right), Account(left)]).count == 2)
        #expect(ThinEvent(entity: left, id: "", type: "") != ThinEvent(entity: right, id: "", type: ""))
    }

    @Test func `an account equals itself however it was made`() {
        for count in [0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 255] {
            let bytes = (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) }
            let one = Account(String(decoding: bytes, as: UTF8.self))
            let two = Account(String(decoding: bytes + bytes, as: UTF8.self).prefix(count).description)
            #expect(one == two)
            #expect(one.hashValue == two.hashValue)
            #expect(one != Account(one.text + "\u{0}"))
            if count > 0 { #expect(one != Account(String(one.text.dropLast()))) }
        }
    }

    @Test func `an account equals no other that differs in one byte`() {
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 20)
        let account = Account(String(decoding: bytes, as: UTF8.self))
        for place in bytes.indices {
            var other = bytes
            other[place] = UInt8(ascii: "b")
            #expect(account != Account(String(decoding: other, as: UTF8.self)))
        }
    }
}
