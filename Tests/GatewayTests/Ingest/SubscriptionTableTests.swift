import LiveUpdates
import Testing

@testable import Gateway

struct SubscriptionTableTests {
    @Test func `an account stands in the table as long as somebody follows it`() {
        var table = SubscriptionTable(loops: 2)
        let account = Account("PACC1")
        #expect(table[7] == nil)
        table.add(account, 7, loop: 1, withCursors: false)
        table.add(account, 7, loop: 1, withCursors: true)
        #expect(table.accounts == 1)
        #expect(table[7]?.account == account)
        #expect(table[7]?.wantsCursors == true)
        #expect(table[7]?.hasSubscribers(onLoop: 0) == false)
        #expect(table[7]?.hasSubscribers(onLoop: 1) == true)
        table.remove(7, loop: 1, withCursors: true)
        #expect(table[7]?.wantsCursors == false)
        #expect(table[7]?.hasSubscribers(onLoop: 1) == true)
        table.remove(7, loop: 1, withCursors: false)
        #expect(table[7] == nil)
        #expect(table.accounts == 0)
    }

    @Test func `a number that is free again is another account's`() {
        var table = SubscriptionTable(loops: 1)
        table.add(Account("caf\u{e9}"), 0, loop: 0, withCursors: false)
        table.remove(0, loop: 0, withCursors: false)
        table.add(Account("cafe\u{301}"), 0, loop: 0, withCursors: false)
        #expect(table[0]?.account == Account("cafe\u{301}"))
        #expect(table[0]?.account != Account("caf\u{e9}"))
        #expect((0..<table.slots).count { table[$0] != nil } == 1)
    }
}
