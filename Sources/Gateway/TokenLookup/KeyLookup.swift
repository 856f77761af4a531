import Fetching
import Logging
import Reactor
import Tokens

/// Fetches the keys of issuers, and answers requests whose tokens name a key that is not known here.
///
/// Each issuer's ``KeySchedule`` decides when to fetch, and what to answer meanwhile. Confined to its loop; fetches run on the
/// fetcher's thread.
final class KeyLookup {
    /// Requests that wait for keys at once. Further ones are asked to retry: each holds a head of up to 16 KiB.
    static let maximumWaiting = 1_000
    /// A key server that is slower counts as unavailable.
    static let timeoutMilliseconds = 5_000

    private final class Issuer {
        var published: FetchedKeys
        var schedule: KeySchedule
        var keys: [SignatureKey] = []
        var waiting: [TokenLookupRequest] = []
        var timer: Timer?
        /// Whether it was logged that tokens of this issuer cannot be checked.
        var isReportedMissing = false

        init(_ published: FetchedKeys, now: UInt64) {
            self.published = published
            schedule = KeySchedule(published.source.timing, now: now)
        }
    }

    private let loop: EventLoop
    private let readiness: NodeReadiness
    private let counters: TokenLookupCounters
    private let logger: Logger
    private let limiter = RateLimiter()
    private let outlets: [Mailbox<TokenLookupAnswer>]
    private let withdrawn: () -> Void
    private let fetching: LazyFetcher
    private var issuers: [Issuer] = []
    /// Every issuer's name, and whether its keys are in a file.
    private var all: [(name: String, isInFile: Bool)] = []
    private var keyReadiness: KeyReadiness
    private var waitingCount = 0
    private var isClosed = false

    /// - Parameter withdrawn: called when some published keys are gone, or may have changed.
    init(
        loop: EventLoop, fetching: LazyFetcher, outlets: [Mailbox<TokenLookupAnswer>], readiness: NodeReadiness,
        counters: TokenLookupCounters, logger: Logger, withdrawn: @escaping () -> Void
    ) {
        self.loop = loop
        self.fetching = fetching
        self.withdrawn = withdrawn
        self.outlets = outlets
        self.readiness = readiness
        self.counters = counters
        self.logger = logger
        keyReadiness = KeyReadiness(now: loop.now)
        if let end = keyReadiness.end { loop.schedule(at: end) { [weak self] in self?.reportReadiness() } }
    }

    /// Goes on with the issuers of these settings. Keys of the same issuer and address stay, and are fetched again at once: a
    /// reload of the settings may mean that a key was replaced.
    func adopt(_ trusted: [TrustedIssuer]) {
        all = trusted.map { ($0.issuer, $0.fetched == nil) }
        let before = issuers
        issuers = trusted.compactMap(\.fetched).map { keys in
            guard let known = before.first(where: { $0.published.source.hasKeys(of: keys.source) }) else {
                return Issuer(keys, now: loop.now)
            }
            if known.published.source != keys.source { known.schedule.change(to: keys.source.timing, now: loop.now) }
            known.schedule.fetchAgain(now: loop.now)
            known.published = keys
            return known
        }
        for gone in before where !issuers.contains(where: { $0 === gone }) {
            if let timer = gone.timer.take() { loop.cancel(timer) }
            answer(gone, .checked(.failure(.unavailable)))
        }
        for issuer in issuers { goOn(issuer) }
        reportReadiness()
    }

    func close() {
        isClosed = true
        for issuer in issuers { if let timer = issuer.timer.take() { loop.cancel(timer) } }
    }

    // MARK: - Questions

    /// A request waits for an unknown key of this issuer.
    func ask(_ request: TokenLookupRequest, _ name: String) {
        guard let issuer = issuers.first(where: { $0.published.source.issuer == name }),
            waitingCount < Self.maximumWaiting
        else { return answer(request, .checked(.failure(.unavailable))) }
        switch issuer.schedule.ask(now: loop.now) {
        case .unavailable: answer(request, .checked(.failure(.unavailable)))
        case .unknown: answer(request, .decideAgain)
        case .waits: wait(request, issuer)
        case .beginsFetch:
            wait(request, issuer)
            fetch(issuer)
            goOn(issuer)
        }
    }

    private func wait(_ request: TokenLookupRequest, _ issuer: Issuer) {
        issuer.waiting.append(request)
        waitingCount += 1
    }

    private func answer(_ request: TokenLookupRequest, _ finding: TokenLookupResult) {
        _ = outlets[request.loop].post(TokenLookupAnswer(request, finding))
    }

    /// Answers all requests that wait for this issuer.
    private func answer(_ issuer: Issuer, _ finding: TokenLookupResult) {
        for request in issuer.waiting { answer(request, finding) }
        waitingCount -= issuer.waiting.count
        issuer.waiting = []
    }

    // MARK: - Fetches

    /// Begins what is due, publishes the state, and runs again when the state changes by itself.
    private func goOn(_ issuer: Issuer) {
        guard !isClosed else { return }
        let now = loop.now
        if issuer.schedule.beginIfDue(now: now) { fetch(issuer) }
        let isUsable = issuer.schedule.isUsable(now: now)
        issuer.published.publish(
            .init(
                keys: isUsable ? issuer.keys : nil,
                asksForUnknown: isUsable && (issuer.schedule.isFetching || !issuer.schedule.isCooling(now: now))))
        if !isUsable, issuer.schedule.usableUntil != nil, !issuer.isReportedMissing {
            issuer.isReportedMissing = true
            logger.error(
                "keys are too old: tokens of this issuer are refused until its keys can be fetched",
                [
                    .issuer: .text(issuer.published.source.issuer), .url: .text(issuer.published.source.url),
                    .advice:
                        "check that the address returns keys to this node; keys_max_age limits how long old keys are used",
                ])
        }
        if let timer = issuer.timer.take() { loop.cancel(timer) }
        guard let wake = issuer.schedule.nextWake(now: now) else { return }
        issuer.timer = loop.schedule(at: wake) { [weak self] in
            issuer.timer = nil
            self?.goOn(issuer)
            // Its keys may have become too old.
            self?.reportReadiness()
        }
    }

    private func fetch(_ issuer: Issuer) {
        let source = issuer.published.source
        let request = FetchRequest(
            url: source.url, authorities: source.authorities, headers: ["Accept: application/json"],
            maximumBytes: FetchedKeySet.maximumBytes, timeoutMilliseconds: Self.timeoutMilliseconds)
        let (lookup, which) = (LoopBound(self, loop: loop), LoopBound(issuer, loop: loop))
        let loop = loop
        fetching.fetch(request) { result in
            let keys = Self.read(result, source)
            loop.execute { lookup.value.ended(which.value, source, keys) }
        }
    }

    /// On the fetcher's thread, because reading keys needs some milliseconds.
    private static func read(
        _ result: Result<[UInt8], FetchError>, _ source: KeySource
    ) -> Result<[SignatureKey], KeyFetchFailure> {
        switch result {
        case .failure(let error): return .failure(KeyFetchFailure(reason: "\(error)"))
        case .success(let text):
            do throws(FetchedKeySet.Problem) {
                return .success(try FetchedKeySet.read(text, algorithms: source.algorithms))
            } catch {
                return .failure(KeyFetchFailure(reason: "\(error)"))
            }
        }
    }

    private func ended(_ issuer: Issuer, _ asked: KeySource, _ result: Result<[SignatureKey], KeyFetchFailure>) {
        // An issuer that the settings have left out since is not fetched again.
        guard !isClosed, issuers.contains(where: { $0 === issuer }) else { return }
        let source = issuer.published.source
        var mayHaveWithdrawn = false
        switch result {
        case .success(let keys):
            counters.keyFetchesOK.add(1, ordering: .relaxed)
            let (before, marks) = (Set(issuer.keys.map(\.mark)), Set(keys.map(\.mark)))
            let isNew = before != marks || !issuer.schedule.isUsable(now: loop.now)
            // Before the first fetch, other keys may have been published for this issuer, from another address.
            mayHaveWithdrawn = before.isEmpty || !before.isSubset(of: marks)
            issuer.keys = keys
            issuer.schedule.succeeded(now: loop.now)
            issuer.isReportedMissing = false
            if isNew {
                logger.notice(
                    "keys fetched",
                    [.issuer: .text(source.issuer), .url: .text(source.url), .count: .number(keys.count)])
            }
        case .failure(let failure):
            counters.keyFetchesFailed.add(1, ordering: .relaxed)
            issuer.schedule.failed(now: loop.now, spread: Double.random(in: 0...1))
            if let passed = limiter.pass(source.issuer, now: loop.now) {
                logger.warning(
                    "keys cannot be fetched, and are tried again",
                    [
                        .issuer: .text(source.issuer), .url: .text(source.url), .error: .text(failure.reason),
                        .advice:
                            "check that the address returns keys to this node, and keys_ca; the last valid keys are used",
                        .suppressed: passed.suppressed,
                    ])
            }
        }
        if asked != source { issuer.schedule.fetchAgain(now: loop.now) }
        // Requests that are answered below are checked with the keys that this publishes.
        goOn(issuer)
        if mayHaveWithdrawn { withdrawn() }
        if case .success = result {
            answer(issuer, .decideAgain)
        } else {
            answer(issuer, .checked(.failure(.unavailable)))
        }
        reportReadiness()
    }

    private func reportReadiness() {
        let now = loop.now
        let states = all.map { entry in
            let isUsable = issuers.contains {
                $0.published.source.issuer == entry.name && $0.schedule.isUsable(now: now)
            }
            return (name: entry.name, hasKeys: entry.isInFile || isUsable)
        }
        let missing = keyReadiness.missing(states, now: now)
        readiness.report(.keys, missing.map { "the keys of the issuer \($0) have not been fetched yet" })
        let without = states.filter { !$0.hasKeys }.map(\.name)
        readiness.warn(
            .keys,
            without.first.map { name in
                let others = without.count > 1 ? ", and \(without.count - 1) more," : ""
                return "the issuer \(name)\(others) has no keys that count: its tokens are refused with 503"
            })
    }
}

@available(*, unavailable)
extension KeyLookup: Sendable {}

private struct KeyFetchFailure: Error {
    let reason: String
}
