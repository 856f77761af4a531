import FuzzSupport
import LiveUpdates
import Tokens

private let now: Int64 = 1_795_240_000
private let source = IntrospectionSource(
    url: "https://a", authorities: nil, client: "a", authorization: "", accountClaim: "account_id",
    cacheMilliseconds: 60_000, timeoutMilliseconds: 1)

/// What a server of tokens may answer: whoever is let in has an account and an end to come.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    let answer = try? Introspection.read(input, about: [], from: source, now: now * 1000)
    guard case .success(let identity) = answer else { return 0 }
    let account = Array(identity.account.text.utf8)
    require((1...Account.maximumBytes).contains(account.count), "an account is neither empty nor long")
    require(!account.contains { $0 < 0x20 || $0 == 0x7F }, "an account has no control characters")
    require((identity.expiresAt ?? 0) > now, "a token that is accepted has not expired")
    return 0
}
