import Fetching
import Logging
import Reactor
import TLS
import Tokens

/// Asks another server for the verdict on tokens that are no JWTs (RFC 7662), and answers the requests that wait for it.
///
/// ``IntrospectionAnswers`` decides what is asked, kept and answered. Confined to its loop; questions run on the fetcher's
/// thread.
final class IntrospectionLookup {
    private let loop: EventLoop
    private let fetching: LazyFetcher
    private let counters: TokenLookupCounters
    private let logger: Logger
    private let limiter = RateLimiter()
    private let answer: (TokenLookupRequest, TokenLookupResult) -> Void
    private var source: IntrospectionSource?
    private var answers = IntrospectionAnswers<TokenLookupRequest>()

    init(
        loop: EventLoop, fetching: LazyFetcher, counters: TokenLookupCounters, logger: Logger,
        answer: @escaping (TokenLookupRequest, TokenLookupResult) -> Void
    ) {
        self.loop = loop
        self.fetching = fetching
        self.counters = counters
        self.logger = logger
        self.answer = answer
    }

    /// Goes on with the server of these settings; answers of another server count no longer.
    func adopt(_ source: IntrospectionSource?) {
        let before = self.source
        self.source = source
        if let before, let source, source.answers(as: before) {
            return answers.keepAtMost(source.cacheMilliseconds, now: loop.now)
        }
        for request in answers.forgetAll() { answer(request, .checked(.failure(.unavailable))) }
    }

    /// A request waits for the server's verdict on this token.
    func ask(_ request: TokenLookupRequest, _ token: [UInt8]) {
        guard let source else { return answer(request, .checked(.failure(.unavailable))) }
        let digest = Digest.sha256(token)
        let second = WallClock.milliseconds / 1000
        switch answers.ask(digest, request, now: loop.now, epochSeconds: second, isHeld: request.recheck > 0) {
        case .known(let verdict): answer(request, .checked(verdict))
        case .busy: answer(request, .checked(.failure(.unavailable)))
        case .waits: break
        case .asks: ask(source, token, digest)
        }
    }

    /// The question about a token.
    static func request(_ source: IntrospectionSource, _ token: [UInt8]) -> FetchRequest {
        FetchRequest(
            url: source.url, authorities: source.authorities,
            headers: [
                source.authorization, "Accept: application/json", "Content-Type: application/x-www-form-urlencoded",
            ],
            body: Introspection.question(token), maximumBytes: Introspection.maximumAnswerBytes,
            timeoutMilliseconds: Int(source.timeoutMilliseconds))
    }

    private func ask(_ source: IntrospectionSource, _ token: [UInt8], _ digest: [UInt8]) {
        let request = Self.request(source, token)
        let (lookup, loop) = (LoopBound(self, loop: loop), loop)
        fetching.fetch(request) { result in
            loop.execute { lookup.value.answered(token, digest, source, result) }
        }
    }

    private func answered(
        _ token: [UInt8], _ digest: [UInt8], _ asked: IntrospectionSource, _ result: Result<[UInt8], FetchError>
    ) {
        // Nobody waits any more for an answer of a server that the settings have replaced.
        guard let source, source.answers(as: asked) else { return }
        let now = WallClock.milliseconds
        var verdict: Result<Identity, TokenRefusal> = .failure(.unavailable)
        var keepFor: UInt64?
        do {
            verdict = try Introspection.read(try result.get(), about: token, from: source, now: now)
            keepFor = source.keeps(verdict, now: now)
            if verdict.isSuccess {
                counters.introspectionsActive.add(1, ordering: .relaxed)
            } else {
                counters.introspectionsInactive.add(1, ordering: .relaxed)
            }
        } catch {
            counters.introspectionsFailed.add(1, ordering: .relaxed)
            if let passed = limiter.pass(asked.url, now: loop.now) {
                logger.warning(
                    "a token cannot be introspected, and is refused with 503",
                    [
                        .url: .text(asked.url), .error: .text("\(error)"),
                        .advice:
                            "check that the server answers this node, and the client's id and secret in the settings",
                        .suppressed: passed.suppressed,
                    ])
            }
        }
        for request in answers.answered(digest, verdict, keepFor: keepFor, now: loop.now) {
            answer(request, .checked(verdict))
        }
    }
}

@available(*, unavailable)
extension IntrospectionLookup: Sendable {}

extension Result where Success == Identity, Failure == TokenRefusal {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
