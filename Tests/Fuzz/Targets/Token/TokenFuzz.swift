import FuzzSupport
import LiveUpdates
import TLS
import Tokens

private let secret = [UInt8](repeating: 0x53, count: 64)
private let now: Int64 = 1_795_240_000

private let verifier: TokenVerifier = {
    guard let key = SignatureKey.secret(secret, name: nil, onlyAlgorithm: nil) else { fatalError("no key") }
    return TokenVerifier(issuers: [
        TrustedIssuer(issuer: "i", audiences: ["a"], algorithms: [.hs256], accountClaim: "account_id", keys: [key])
    ])
}()

/// HMAC with SHA-256 (RFC 2104), so that what the fuzzer writes comes past the signature.
private func hmac(_ message: [UInt8]) -> [UInt8] {
    let inner = Digest.sha256(secret.map { $0 ^ 0x36 } + message)
    return Digest.sha256(secret.map { $0 ^ 0x5C } + inner)
}

/// A line of header and a line of claims, signed.
private func checkSigned(_ input: [UInt8]) {
    let lines = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    guard lines.count == 2 else { return }
    let signed = Base64.encodeURL(Array(lines[0])) + "." + Base64.encodeURL(Array(lines[1]))
    var signature = hmac(Array(signed.utf8))
    func verdict() -> Result<Identity, TokenRefusal> {
        verifier.verify(Array((signed + "." + Base64.encodeURL(signature)).utf8), now: now)
    }
    guard case .success(let identity) = verdict() else { return }
    let account = Array(identity.account.text.utf8)
    require((1...Account.maximumBytes).contains(account.count), "an account is neither empty nor long")
    require(!account.contains { $0 < 0x20 || $0 == 0x7F }, "an account has no control characters")
    require((identity.expiresAt ?? 0) > now - 600, "a token that is accepted has not expired")
    signature[signature.count - 1] ^= 1
    if case .success = verdict() { require(false, "another signature is accepted") }
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    checkSigned(input)
    if case .success = verifier.verify(input, now: now) { require(false, "nobody signed this") }
    let keys = KeySet(input)
    require(keys.keys.count <= KeySet.maximumKeys, "the limit on keys holds")
    return 0
}
