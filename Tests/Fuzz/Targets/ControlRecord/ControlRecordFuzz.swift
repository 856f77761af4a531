import FuzzSupport
import LiveUpdates
import Tokens

private let now: Int64 = 1_795_240_000_000

/// What anybody who may write to the control topic can write: what is understood names something that a token can have,
/// and shuts nobody out for whose token it is too early. What is erased is an account's past until the record's own time.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    require((try? ControlRecord.read(input, timestamp: nil)) == nil, "a record without a time asks for nothing")
    switch try? ControlRecord.read(input, timestamp: now) {
    case .revoke(let revocation)?: check(revocation)
    case .erase(let account, let moment)?:
        check(account)
        require(moment == now, "nothing is erased that came after the record")
        let again = ControlRecord.value(erasing: account.text)
        require(
            (try? ControlRecord.read(again, timestamp: now)) == .erase(account, until: now),
            "what is written for an account erases it")
    case nil: break
    }
    return 0
}

private func check(_ revocation: Revocation) {
    require(revocation.before >= 0 && revocation.before <= now / 1000 + 60, "before is a time, and not far ahead")
    require(revocation.recordedAt == now, "the record's time is its own")
    switch revocation.target {
    case .account(let account): check(account)
    case .subject(let account, let subject):
        check(account)
        require((1...255).contains(subject.text.utf8.count), "a subject is neither empty nor long")
    case .token(let name): require((1...128).contains(name.text.utf8.count), "a token's name is neither empty nor long")
    }
    var kept = Revocations(retentionMilliseconds: 60_000, now: 0, wall: now)
    kept.add(revocation, now: 0, wall: now)
    require(kept.count == 1, "what was understood is kept")
}

private func check(_ account: Account) {
    let bytes = Array(account.text.utf8)
    require((1...Account.maximumBytes).contains(bytes.count), "an account is neither empty nor long")
    require(!bytes.contains { $0 < 0x20 || $0 == 0x7F }, "an account has no control characters")
}
