import LiveUpdates
import Synchronization

/// Requests and refusals of accounts within about a minute: of the running minute, and of the one before as far as it is
/// less than a minute ago. A value without a clock.
struct AccountLoad: Sendable {
    /// What an account has asked for, and what of it was refused.
    struct Counts: Equatable, Sendable {
        var requests = 0
        var refusals = 0
    }

    static let minuteMilliseconds: UInt64 = 60_000
    /// When one minute counts twice as many accounts, only this many stay, those with the most. The busiest account is thus found
    /// among any number of others. A node keeps some 100 KiB for each of two minutes.
    static let maximumAccounts = 1_024

    private var begunAt: UInt64 = 0
    private var running: [Account: Counts] = [:]
    private var before: [Account: Counts] = [:]

    /// `now` is monotonic, in milliseconds, and may lag behind the time that another loop has passed.
    mutating func note(_ account: Account, isRefused: Bool, now: UInt64) {
        advance(to: now)
        if isRefused {
            running[account, default: Counts()].refusals += 1
        } else {
            running[account, default: Counts()].requests += 1
        }
        guard running.count >= 2 * Self.maximumAccounts else { return }
        let kept = running.sorted { ($0.value.requests + $0.value.refusals) > ($1.value.requests + $1.value.refusals) }
        running = Dictionary(uniqueKeysWithValues: kept.prefix(Self.maximumAccounts).map { ($0.key, $0.value) })
    }

    /// A minute's counts, rounded.
    mutating func aMinute(now: UInt64) -> [Account: Counts] {
        advance(to: now)
        let left = Self.minuteMilliseconds - min(Self.minuteMilliseconds, now - min(now, begunAt))
        func share(_ count: Int) -> Int {
            Int((UInt64(count) * left + Self.minuteMilliseconds / 2) / Self.minuteMilliseconds)
        }
        return running.merging(
            before.mapValues { Counts(requests: share($0.requests), refusals: share($0.refusals)) }
        ) { Counts(requests: $0.requests + $1.requests, refusals: $0.refusals + $1.refusals) }
    }

    private mutating func advance(to now: UInt64) {
        let minutes = (now - min(now, begunAt)) / Self.minuteMilliseconds
        guard minutes > 0 else { return }
        before = minutes == 1 ? running : [:]
        running = [:]
        begunAt += minutes * Self.minuteMilliseconds
    }
}

/// The same of a node, of all loops together: counted once a request, never for a message.
final class AccountRates: Sendable {
    private let load = Mutex(AccountLoad())

    func note(_ account: Account, isRefused: Bool = false, now: UInt64) {
        load.withLock { $0.note(account, isRefused: isRefused, now: now) }
    }

    func aMinute(now: UInt64) -> [Account: AccountLoad.Counts] { load.withLock { $0.aMinute(now: now) } }
}

/// An account as `/admin/status` ranks it.
struct RankedAccount: Equatable, Sendable {
    let account: Account
    let connections: Int
    let minute: AccountLoad.Counts

    /// The accounts that lead by connections, by requests and by refusals a minute, `limit` of each; those with most
    /// connections first.
    ///
    /// - Parameters:
    ///   - busiest: those with most connections, in their order.
    ///   - connections: how many each of these accounts has.
    static func ranked(
        busiest: [Account], _ minute: [Account: AccountLoad.Counts], limit: Int, connections: ([Account]) -> [Int]
    ) -> [RankedAccount] {
        var leading = Array(busiest.prefix(limit))
        for count in [\AccountLoad.Counts.requests, \.refusals] {
            let most = minute.filter { $0.value[keyPath: count] > 0 }.sorted {
                ($1.value[keyPath: count], $0.key.text) < ($0.value[keyPath: count], $1.key.text)
            }
            leading += most.prefix(limit).map(\.key)
        }
        var seen = Set<Account>()
        leading = leading.filter { seen.insert($0).inserted }
        let ranked = zip(leading, connections(leading)).map {
            RankedAccount(account: $0, connections: $1, minute: minute[$0] ?? AccountLoad.Counts())
        }
        func order(_ entry: RankedAccount) -> (Int, Int, Int) {
            (entry.connections, entry.minute.requests, entry.minute.refusals)
        }
        return ranked.sorted { order($1) == order($0) ? $0.account.text < $1.account.text : order($1) < order($0) }
    }
}
