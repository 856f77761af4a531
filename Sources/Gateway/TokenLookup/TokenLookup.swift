import Fetching
import Logging
import Reactor
import Tokens

/// Holds requests whose tokens cannot be decided before another server was asked. Confined to its loop.
///
/// Connection loops need its mailbox and it needs theirs: it is made first, and opens when all of them exist.
final class TokenLookup {
    private let loop: EventLoop
    private let fetching: LazyFetcher
    private var keys: KeyLookup?
    private var introspection: IntrospectionLookup?

    init(loop: EventLoop, fetching: LazyFetcher = LazyFetcher()) {
        self.loop = loop
        self.fetching = fetching
    }

    /// Begins to fetch what the settings name. `outlets` are those of the connection loops, by their index. `withdrawn` is called
    /// after each publication that may lack keys that signed the tokens of open streams.
    func open(
        _ verifier: TokenVerifier, outlets: [Mailbox<TokenLookupAnswer>], readiness: NodeReadiness,
        counters: TokenLookupCounters, logger: Logger, withdrawn: @escaping () -> Void
    ) {
        keys = KeyLookup(
            loop: loop, fetching: fetching, outlets: outlets, readiness: readiness, counters: counters, logger: logger,
            withdrawn: withdrawn)
        introspection = IntrospectionLookup(
            loop: loop, fetching: fetching, counters: counters, logger: logger
        ) { request, finding in
            outlets[request.loop].post(TokenLookupAnswer(request, finding))
        }
        adopt(verifier)
    }

    /// Goes on with the verifier of reloaded settings, before any loop uses it.
    func adopt(_ verifier: TokenVerifier) {
        keys?.adopt(verifier.issuers)
        introspection?.adopt(verifier.introspection)
    }

    func receive(_ requests: [TokenLookupRequest]) {
        for request in requests {
            switch request.question {
            case .keys(let issuer): keys?.ask(request, issuer)
            case .introspection(let token): introspection?.ask(request, token)
            }
        }
    }

    /// Asks no more questions; the end of its connection ends a request that waits.
    func close() {
        keys?.close()
        fetching.stop()
    }
}

@available(*, unavailable)
extension TokenLookup: Sendable {}

/// A fetcher whose thread begins with the first request: most gateways fetch nothing. Confined to a loop.
final class LazyFetcher {
    typealias Fetch = (FetchRequest, @escaping Fetcher.Done) -> Void

    private var fetcher: Fetcher?
    private var isStopped = false
    private let substitute: Fetch?

    /// - Parameter substitute: what fetches instead of libcurl, in tests.
    init(_ substitute: Fetch? = nil) { self.substitute = substitute }

    func fetch(_ request: FetchRequest, _ done: @escaping Fetcher.Done) {
        guard !isStopped else { return done(.failure(.stopped)) }
        if let substitute { return substitute(request, done) }
        do throws(FetchError) {
            if fetcher == nil { fetcher = try Fetcher() }
            fetcher?.fetch(request, done)
        } catch {
            done(.failure(error))
        }
    }

    func stop() {
        isStopped = true
        fetcher?.stop()
        fetcher = nil
    }
}
