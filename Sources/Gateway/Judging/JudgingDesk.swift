import Fetching
import Logging
import Reactor
import Tokens

/// Where requests wait whose tokens cannot be judged before another server was asked. Confined to its loop.
///
/// Connection loops need its mailbox and it needs theirs; it stands first, and opens when all of them are there.
final class JudgingDesk {
    private let loop: EventLoop
    private let fetching: LazyFetcher
    private var keys: KeyDesk?
    private var introspection: IntrospectionDesk?

    init(loop: EventLoop, fetching: LazyFetcher = LazyFetcher()) {
        self.loop = loop
        self.fetching = fetching
    }

    /// Begins to fetch what the settings name. `outlets` are those of the connection loops, by their index; `withdrawn` is called
    /// behind each publication by which keys may be gone that have signed the tokens of open streams.
    func open(
        _ verifier: TokenVerifier, outlets: [Mailbox<JudgingAnswer>], readiness: NodeReadiness,
        counters: JudgingCounters, logger: Logger, withdrawn: @escaping () -> Void
    ) {
        keys = KeyDesk(
            loop: loop, fetching: fetching, outlets: outlets, readiness: readiness, counters: counters, logger: logger,
            withdrawn: withdrawn)
        introspection = IntrospectionDesk(
            loop: loop, fetching: fetching, counters: counters, logger: logger
        ) { request, finding in
            outlets[request.loop].post(JudgingAnswer(request, finding))
        }
        adopt(verifier)
    }

    /// Goes on with the verifier of settings that were read again, before any loop uses it.
    func adopt(_ verifier: TokenVerifier) {
        keys?.adopt(verifier.issuers)
        introspection?.adopt(verifier.introspection)
    }

    func receive(_ requests: [JudgingRequest]) {
        for request in requests {
            switch request.question {
            case .keys(let issuer): keys?.ask(request, issuer)
            case .introspection(let token): introspection?.ask(request, token)
            }
        }
    }

    /// Nothing is asked any more; who waits is told by its connection's end.
    func close() {
        keys?.close()
        fetching.stop()
    }
}

@available(*, unavailable)
extension JudgingDesk: Sendable {}

/// A fetcher whose thread begins with the first request: most gateways ask nobody. Confined to a loop.
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
