import TLS

/// A fixed token for one account of a run.
struct BenchToken: Sendable {
    /// The account of runs in which everybody listens to one.
    static let onlyAccount = "BENCH"

    let account: String
    let text: String
    let sha256: String

    init(account: String) {
        self.account = account
        text = Base64.encodeURL(Random.bytes(16))
        let digits = Array("0123456789abcdef".utf8)
        let digest = Digest.sha256(Array(text.utf8))
        sha256 = String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
