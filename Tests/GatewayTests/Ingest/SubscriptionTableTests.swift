import LiveUpdates
import Testing

@testable import Gateway

struct SubscriptionTableTests {
    @Test func `an account stands in the table as long as somebody listens to it`() {
        var table = SubscriptionTable(loops: 2)
        let account = Account("PACC1")
        #expect(table[account] == nil)
        let isFirst = table.add(account, loop: 1, withCursors: false)
        #expect(isFirst)
        let isFirstAgain = table.add(account, loop: 1, withCursors: true)
        #expect(!isFirstAgain)
        #expect(table[account]?.wantsCursors == true)
        #expect(table[account]?.hasSubscribers(onLoop: 0) == false)
        #expect(table[account]?.hasSubscribers(onLoop: 1) == true)
        let wasLast = table.remove(account, loop: 1, withCursors: true)
        #expect(!wasLast)
        #expect(table[account]?.wantsCursors == false)
        #expect(table[account]?.hasSubscribers(onLoop: 1) == true)
        let isLast = table.remove(account, loop: 1, withCursors: false)
        #expect(isLast)
        #expect(table[account] == nil)
        #expect(table.accounts == 0)
    }

    @Test func `two accounts that only look alike are two`() {
        var table = SubscriptionTable(loops: 1)
        _ = table.add(Account("caf\u{e9}"), loop: 0, withCursors: false)
        #expect(table[Account("cafe\u{301}")] == nil)
    }
}
