/// Random numbers that are the same in each language: mulberry32, which passes gjrand's tests and fits JavaScript's integers.
///
/// For spreading clients in time, never for secrets.
public struct Jitter: Codable, Equatable, Sendable {
    private var state: UInt32

    /// The same seed gives the same numbers.
    public init(seed: UInt32) { state = seed }

    /// Uniform over all words.
    public mutating func next() -> UInt32 {
        state &+= 0x6D2B_79F5
        var word = (state ^ (state >> 15)) &* (state | 1)
        word ^= word &+ (word ^ (word >> 7)) &* (word | 61)
        return word ^ (word >> 14)
    }

    /// Uniform from `low` up to, but without, `high`.
    public mutating func milliseconds(_ low: Milliseconds, _ high: Milliseconds) -> Milliseconds {
        // 128 bits: a spread may be years.
        let product = (max(high, low) - low).multipliedFullWidth(by: Milliseconds(next()))
        return low + (product.high << 32 | Milliseconds(product.low >> 32))
    }
}

/// When to try again. The server's own wait comes first. Otherwise it is full jitter between half a second and a bound that
/// doubles from one second to 20 (CLIENT.md). So clients that lost their server together do not return together.
public struct Retry: Codable, Equatable, Sendable {
    /// The shortest wait that the client chooses, in milliseconds.
    public static let minimum: Milliseconds = 500
    /// The longest wait that the client chooses, in milliseconds.
    public static let maximum: Milliseconds = 20_000
    /// The upper bound of the first wait.
    static let firstBound: Milliseconds = 1_000
    /// After this long without a failure, the next failure counts as the first.
    public static let calm: Milliseconds = 30_000
    /// The longest wait that a server can ask for: a day.
    static let maximumAsked: Milliseconds = 86_400_000

    /// Failures in a row.
    public private(set) var failures = 0
    private var jitter: Jitter

    /// A retry without failures. The seed spreads clients in time: use another one for each client.
    public init(seed: UInt32) { jitter = Jitter(seed: seed) }

    /// Counts a failure and returns how long to wait.
    ///
    /// - Parameter asked: what the server asked for. This is `retry_ms`, which is for this client alone, so it is used unchanged.
    public mutating func wait(asked: Milliseconds? = nil) -> Milliseconds {
        let bound = min(Self.firstBound << Milliseconds(min(failures, 10)), Self.maximum)
        failures += 1
        if let asked { return min(max(asked, 0), Self.maximumAsked) }
        return jitter.milliseconds(Self.minimum, bound)
    }

    /// Counts a failure and returns how long to wait after `Retry-After`. All refused clients got the same value. To spread them,
    /// it adds up to half of that value, or up to a second if that is more.
    public mutating func wait(retryAfter: Milliseconds) -> Milliseconds {
        failures += 1
        let asked = min(max(retryAfter, 0), Self.maximumAsked)
        return jitter.milliseconds(asked, asked + max(asked / 2, 1_000))
    }

    /// Ends the series of failures.
    public mutating func reset() { failures = 0 }
}
