/// Which transport works on this network. It begins with the best and falls back after failures. It remembers the result for the
/// network, and tries the better ones again after an hour.
///
/// Three things cause a fallback. First, an answer to an upgrade that no Livegate gave proves that a proxy swallows upgrades.
/// Second, three connections in a row that were cut without a close notice after nearly the same time prove a proxy's timer. They
/// must have lived at least as long as such a timer allows. Other failures may be a fault of the server or of a tunnel. After a
/// few, a lower transport is tried once, as a guess. If it works, the better ones are tried again within a minute. Only if they
/// fail then does the guess become knowledge.
///
/// A trial begins at the best transport. Any failure in it falls back at once, because the network is known to work.
struct TransportFallback: Sendable {
    /// Better transports are tried again after this time.
    static let trialPause: Milliseconds = 3_600_000
    /// The same after a guess: between half of this and all of it, so that clients that guessed together do not return together.
    static let guessPause: Milliseconds = 60_000
    /// A guess follows when failures, each with its weight, add up to this.
    static let maximumStrikes = 3
    /// A connection that lives less than this may have met a timer. A trial succeeds if its connection lives longer.
    static let shortLife: Milliseconds = 120_000
    /// This many similar lives prove a timer.
    static let provingLives = 3
    /// A proxy's timer lets a connection live at least this long. Three that were cut sooner are similar by chance.
    static let shortestTimer: Milliseconds = 10_000
    /// After a cut, a long poll waits half as long, but at least this long.
    static let minimumWait: Milliseconds = 10_000
    /// The most networks remembered. Beyond it, the one whose trial is due first is forgotten.
    static let maximumKnown = 32

    private let ways: [ConnectionWay]
    private let longestWait: Milliseconds
    /// The records that the owner keeps.
    private(set) var known: [KnownWay]
    private(set) var network = ""
    private(set) var way: ConnectionWay
    /// The wait of the next long poll.
    private(set) var wait: Milliseconds
    private(set) var isTrial = false
    private var isGuess = false
    private var strikes = 0
    private var lives: [Milliseconds] = []
    /// The shortest of the lives that proved a timer.
    private var cutAfter: Milliseconds?
    private var cutWaits = 0

    init(ways: [ConnectionWay], longestWait: Milliseconds, known: [KnownWay]) {
        let ways = ways.isEmpty ? ConnectionWay.allCases : ways
        self.ways = ways
        self.longestWait = longestWait
        self.known = Array(known.filter { ways.contains($0.way) && $0.way != ways[0] }.prefix(Self.maximumKnown))
        way = ways[0]
        wait = longestWait
        settle()
    }

    private var record: KnownWay? { known.first { $0.network == network } }

    private var lower: ConnectionWay? { ways.firstIndex(of: way).flatMap { $0 + 1 < ways.count ? ways[$0 + 1] : nil } }

    /// When better transports are due to be tried; nil on the best.
    var trialAt: Milliseconds? { isTrial ? nil : record?.upAt }

    /// The device is on this network now.
    mutating func enter(_ network: String) {
        guard network != self.network else { return }
        self.network = network
        settle()
    }

    /// Returns to what is known.
    private mutating func settle() {
        (way, wait) = (record?.way ?? ways[0], record?.wait ?? longestWait)
        (isTrial, isGuess, strikes, lives, cutAfter, cutWaits) = (false, false, 0, [], nil, 0)
    }

    /// An attempt begins.
    mutating func begin(now: Milliseconds) {
        // The clock may have been set back, because records are kept over restarts. This must not postpone a trial for ever.
        if let index = known.firstIndex(where: { $0.network == network }) {
            known[index].upAt = min(known[index].upAt, now + Self.trialPause)
        }
        guard let record, !isTrial, way == record.way, now >= record.upAt else { return }
        settle()
        isTrial = true
        way = ways[0]
    }

    /// Falls back by one transport: the next attempt uses it.
    ///
    /// - Returns: false if there is no lower one.
    mutating func stepDown(now: Milliseconds) -> Bool {
        guard let lower else { return false }
        let cutAfter = lives.count == Self.provingLives ? lives.min() : cutAfter
        way = lower
        (strikes, lives, cutWaits) = (Self.maximumStrikes - 1, [], 0)
        self.cutAfter = cutAfter
        wait = cutAfter.map { min(longestWait, max(Self.minimumWait, $0 * 3 / 4)) } ?? longestWait
        if isTrial, let record, way == record.way {
            // The trial has failed.
            isTrial = false
            wait = record.wait
            keep(upAt: now + Self.trialPause)
        }
        return true
    }

    /// The same as a guess, which is tried again soon. A failed trial keeps what it was.
    mutating func stepDownGuessing(now: Milliseconds) -> Bool {
        let wasTrial = isTrial
        guard stepDown(now: now) else { return false }
        isGuess = !wasTrial
        return true
    }

    /// An attempt failed, and the cause is not proved.
    ///
    /// - Returns: whether the next transport is to be tried at once.
    mutating func failed(weight: Int, now: Milliseconds) -> Bool {
        if isTrial { return stepDown(now: now) }
        strikes += weight
        guard strikes >= Self.maximumStrikes else { return false }
        if let lower, lower != .polling {
            _ = stepDownGuessing(now: now)
        } else {
            settle()
        }
        return false
    }

    /// A stream has opened, or a poll was answered.
    ///
    /// - Parameter jitter: spreads the trial after a guess.
    mutating func opened(now: Milliseconds, _ jitter: inout Jitter) {
        strikes = 0
        // The best transport needs no record. A trial succeeds only by a connection that lives long enough.
        guard !isTrial, way != ways[0] else { return }
        if let record, record.way == way, record.wait == wait, record.upAt > now { return }
        let isGuess = isGuess
        self.isGuess = false
        keep(upAt: now + (isGuess ? jitter.milliseconds(Self.guessPause / 2, Self.guessPause) : Self.trialPause))
    }

    /// An opened connection has ended.
    ///
    /// - Parameter isCut: whether it ended without a message of the server, and not by our choice.
    /// - Returns: whether the next transport is to be tried at once.
    mutating func ended(lived: Milliseconds, isCut: Bool, now: Milliseconds) -> Bool {
        if isTrial {
            guard lived >= Self.shortLife else { return isCut && stepDown(now: now) }
            pass(now: now)
            return false
        }
        guard isCut, lived < Self.shortLife else {
            lives = []
            return false
        }
        lives = lives.suffix(Self.provingLives - 1) + [lived]
        if lives.count == Self.provingLives, let least = lives.min(), let most = lives.max(),
            most - least <= max(1_000, most / 5)
        {
            stepDown(after: least, now: now)
        }
        return false
    }

    /// Falls back by one transport: as knowledge if the connection lived as long as a timer allows, otherwise as a guess.
    private mutating func stepDown(after lived: Milliseconds, now: Milliseconds) {
        if lived >= Self.shortestTimer {
            _ = stepDown(now: now)
        } else {
            lives = []
            _ = stepDownGuessing(now: now)
        }
    }

    /// The connection of the trial lived long enough: its transport works here.
    private mutating func pass(now: Milliseconds) {
        isTrial = false
        if way == ways[0] {
            known.removeAll { $0.network == network }
        } else {
            keep(upAt: now + Self.trialPause)
        }
    }

    private mutating func keep(upAt: Milliseconds) {
        known.removeAll { $0.network == network }
        if known.count >= Self.maximumKnown, let first = known.indices.min(by: { known[$0].upAt < known[$1].upAt }) {
            known.remove(at: first)
        }
        known.append(KnownWay(network: network, way: way, wait: wait, upAt: upAt))
    }

    /// A long poll was cut before its answer. After two in a row, the next waits half as long, or the transport falls back.
    mutating func waitCut(after lived: Milliseconds, now: Milliseconds) {
        cutWaits += 1
        guard cutWaits >= 2 else { return }
        cutWaits = 0
        if wait / 2 >= Self.minimumWait { wait /= 2 } else { stepDown(after: lived, now: now) }
    }

    mutating func waitAnswered() { cutWaits = 0 }
}
