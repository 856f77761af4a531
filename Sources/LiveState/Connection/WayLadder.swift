/// Which way works on this network: begins with the best, steps down by what fails, remembers it for the network, and
/// tries the better ones again after an hour.
///
/// Three things lead down. An answer to an upgrade that no Livegate gave proves that somebody between swallows it.
/// Three connections in a row that were cut without a word after nearly the same time prove a timer between, where they
/// lived for as long as a timer lets them. Everything else may be the server's fault, or a tunnel's: after a few such
/// failures a lower way is tried once, as a guess; if it works, the better ones are tried again within a minute, and
/// only their failing then makes the guess knowledge.
///
/// A trial begins at the best way. Whatever fails in it steps down at once, because the network is known to work.
struct WayLadder: Sendable {
    /// Better ways are tried again after so long.
    static let trialPause: Milliseconds = 3_600_000
    /// After a guess: between the half and the whole of this, so that those who guessed together do not come back
    /// together.
    static let guessPause: Milliseconds = 60_000
    /// Failures, each by its weight, that lead to a guess.
    static let maximumStrikes = 3
    /// Lives below this may be a timer's; a trial is passed by what lives longer.
    static let shortLife: Milliseconds = 120_000
    /// How many alike prove a timer.
    static let provingLives = 3
    /// A timer between lets a connection live for so long at least: three that were cut sooner are alike by themselves.
    static let shortestTimer: Milliseconds = 10_000
    /// A long poll that is cut waits for half as long, but for this at least.
    static let minimumWait: Milliseconds = 10_000
    /// Networks that are remembered; over it, the one whose trial is due first is forgotten.
    static let maximumKnown = 32

    private let ways: [ConnectionWay]
    private let longestWait: Milliseconds
    /// What the owner keeps.
    private(set) var known: [KnownWay]
    private(set) var network = ""
    private(set) var way: ConnectionWay
    /// Of the next long poll.
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

    /// When better ways are due to be tried; nil on the best.
    var trialAt: Milliseconds? { isTrial ? nil : record?.upAt }

    /// The device is on this network now.
    mutating func enter(_ network: String) {
        guard network != self.network else { return }
        self.network = network
        settle()
    }

    /// Back to what is known.
    private mutating func settle() {
        (way, wait) = (record?.way ?? ways[0], record?.wait ?? longestWait)
        (isTrial, isGuess, strikes, lives, cutAfter, cutWaits) = (false, false, 0, [], nil, 0)
    }

    /// An attempt begins.
    mutating func begin(now: Milliseconds) {
        // A clock that was set back, as it is kept over restarts, does not put a trial off for ever.
        if let index = known.firstIndex(where: { $0.network == network }) {
            known[index].upAt = min(known[index].upAt, now + Self.trialPause)
        }
        guard let record, !isTrial, way == record.way, now >= record.upAt else { return }
        settle()
        isTrial = true
        way = ways[0]
    }

    /// Goes one way down: the next attempt is made by it.
    ///
    /// - Returns: false on the last.
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

    /// The same by a guess, which is tried again soon; a trial that fails is as it was.
    mutating func stepDownGuessing(now: Milliseconds) -> Bool {
        let wasTrial = isTrial
        guard stepDown(now: now) else { return false }
        isGuess = !wasTrial
        return true
    }

    /// An attempt failed, and it is not proved whose fault that is.
    ///
    /// - Returns: whether the next way is to be tried at once.
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
        // The best way needs no record, and a trial is passed by what lives.
        guard !isTrial, way != ways[0] else { return }
        if let record, record.way == way, record.wait == wait, record.upAt > now { return }
        let isGuess = isGuess
        self.isGuess = false
        keep(upAt: now + (isGuess ? jitter.milliseconds(Self.guessPause / 2, Self.guessPause) : Self.trialPause))
    }

    /// What had opened has ended.
    ///
    /// - Parameter isCut: without a word of the server, and without our wish.
    /// - Returns: whether the next way is to be tried at once.
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

    /// Goes one way down: as what is known, where it lived for as long as a timer lets it, else as a guess.
    private mutating func stepDown(after lived: Milliseconds, now: Milliseconds) {
        if lived >= Self.shortestTimer {
            _ = stepDown(now: now)
        } else {
            lives = []
            _ = stepDownGuessing(now: now)
        }
    }

    /// The trial's way lived long enough: it is what works here.
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

    /// A long poll was cut before its answer. Two in a row: the next waits for half as long, or the way is given up.
    mutating func waitCut(after lived: Milliseconds, now: Milliseconds) {
        cutWaits += 1
        guard cutWaits >= 2 else { return }
        cutWaits = 0
        if wait / 2 >= Self.minimumWait { wait /= 2 } else { stepDown(after: lived, now: now) }
    }

    mutating func waitAnswered() { cutWaits = 0 }
}
