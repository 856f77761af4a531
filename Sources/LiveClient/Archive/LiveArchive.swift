import HTTP
import LiveState

extension LiveClient {
    /// The account's past, and what this person has not read of it. It needs no stream.
    public nonisolated var archive: LiveArchive { LiveArchive(handle) }
}

/// The past of a client's account: pages of events, the person's inbox, and read marks.
///
///     for try await page in client.archive.pages(ArchiveRequest(limit: 50)) {
///         model.add(page.events)
///         if page.events.last?.aid ?? EventID("") < oldestOnScreen { break }
///     }
///     try await client.archive.markRead(Thing(entity: "incident", id: "PAM4FGS"), upTo: last)
///
/// After a 401 it fetches a new token once. It waits as `Retry-After` asks, up to ``patience``. Reading never removes anything:
/// each device gets all events.
public struct LiveArchive: Sendable {
    /// How long a request may wait in total because the server asks for it, in milliseconds. A longer wait fails at once.
    public var patience: Milliseconds = 30_000

    /// The limit for a server that always asks for a wait of zero.
    private static let maximumAttempts = 5
    /// The time limit for an answer. The connection has its own shorter deadline.
    private static let answerMilliseconds: Milliseconds = 20_000

    /// The server's status for a stored mark. Any other success status comes from a proxy.
    static let marked = 204

    /// The time limit for a batch of marks.
    static let batchMilliseconds: Milliseconds = 20_000

    private let handle: LiveHandle
    var now: @Sendable () -> Milliseconds = { [clock = AppClock()] in clock.now }
    var sleep: @Sendable (Milliseconds) async throws -> Void = { try await Task.sleep(for: .milliseconds($0)) }

    init(_ handle: LiveHandle) { self.handle = handle }

    /// Returns one page of past events.
    public func page(_ request: ArchiveRequest = ArchiveRequest()) async throws(ArchiveError) -> ArchivePage {
        let answer = try await ask("/archive/v1", request.parameters)
        guard let (page, _) = ArchivePage.read(answer) else { throw ArchiveError(answer) }
        return page
    }

    /// The pages that match a request, each fetched when it is read. Each event appears once, even while new ones arrive.
    public func pages(_ request: ArchiveRequest = ArchiveRequest()) -> ArchivePages<ArchivePage> {
        ArchivePages { [self] (place: ArchiveRequest?) async throws(ArchiveError) in
            let asked = place ?? request
            let page = try await page(asked)
            return (page, asked.following(page))
        }
    }

    /// Returns one page of the person's inbox.
    public func inbox(_ request: InboxRequest = InboxRequest()) async throws(ArchiveError) -> InboxPage {
        let answer = try await ask("/inbox/v1", request.parameters)
        guard let (page, _) = InboxPage.read(answer) else { throw ArchiveError(answer) }
        return page
    }

    /// The pages of the person's inbox, each fetched when it is read. If something happens to a thing meanwhile, the thing moves
    /// up and its event arrives by the stream.
    public func inboxPages(_ request: InboxRequest = InboxRequest()) -> ArchivePages<InboxPage> {
        ArchivePages { [self] (place: InboxRequest?) async throws(ArchiveError) in
            let asked = place ?? request
            let page = try await inbox(asked)
            return (page, asked.following(page))
        }
    }

    /// Marks a thing as read up to this event; without a thing, everything. A mark never goes back, and all streams of the person
    /// get ``LiveUpdate/read(_:)``. To show it at once and send it when there is a network, use
    /// ``LiveActions/markRead(_:upTo:from:)``.
    public func markRead(_ thing: Thing? = nil, upTo: EventID) async throws(ArchiveError) {
        let answer = try await ask("/inbox/v1/read", [], body: ReadMark(of: thing, upTo: upTo).body)
        guard answer.status == Self.marked else { throw ArchiveError(answer) }
    }

    // MARK: - Requests

    private func ask(
        _ path: String, _ parameters: [(name: String, value: String)], body: [UInt8]? = nil
    ) async throws(ArchiveError) -> ServerAnswer {
        var retry = Retry(seed: .random(in: 0 ... .max))
        var (waited, hasRenewed): (Milliseconds, Bool) = (0, false)
        var refused: String?
        for _ in 1..<Self.maximumAttempts {
            let (answer, token) = try await askOnce(path, parameters, body: body, replacing: refused)
            refused = nil
            switch answer.status {
            case 401 where !hasRenewed: (hasRenewed, refused) = (true, token)
            case 429, 503:
                guard let asked = answer.retryAfterMilliseconds else { return answer }
                let wait = retry.wait(retryAfter: Milliseconds(asked))
                waited += wait
                guard waited <= patience else { return answer }
                do { try await sleep(wait) } catch { throw .cancelled }
            default: return answer
            }
        }
        return try await askOnce(path, parameters, body: body, replacing: refused).answer
    }

    /// Makes one request and returns any answer. The token is the app's current one, and never the one that was refused.
    func askOnce(
        _ path: String, _ parameters: [(name: String, value: String)], body: [UInt8]?, replacing refused: String? = nil
    ) async throws(ArchiveError) -> (answer: ServerAnswer, token: String) {
        let handle = handle
        do {
            return try await Deadline.run(
                milliseconds: Self.answerMilliseconds, late: LiveClientError.unreachable("no answer in time")
            ) {
                let token = try await handle.parts.tokens.ask(fresh: refused != nil, replacing: refused)
                var request = handle.parts.request.asking(.document, since: nil, waitMilliseconds: 0, token: token)
                request.url = request.url.replacing(pathSuffix: "/sync/v1", with: path).setting(parameters)
                request.jsonBody = body
                return (try await handle.ask(request), token)
            }
        } catch {
            throw ArchiveError(error)
        }
    }
}

/// The pages of a ``LiveArchive``, one after the other. Each iteration begins again at the first page.
public struct ArchivePages<Page: Sendable>: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = Page
    /// Why a page could not be fetched.
    public typealias Failure = ArchiveError

    /// Fetches page after page.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let first: @Sendable () async throws(ArchiveError) -> Step
        fileprivate var following: (@Sendable () async throws(ArchiveError) -> Step)?
        fileprivate var hasBegun = false

        /// Fetches the next page; nil after the last one. If it failed, the next call tries the same page again.
        public mutating func next() async throws(ArchiveError) -> Page? {
            guard let ask = hasBegun ? following : first else { return nil }
            let step = try await ask()
            hasBegun = true
            following = step.following
            return step.page
        }
    }

    fileprivate struct Step: Sendable {
        let page: Page
        let following: (@Sendable () async throws(ArchiveError) -> Step)?
    }

    private let first: @Sendable () async throws(ArchiveError) -> Step

    /// - Parameter ask: returns the page at a position (nil: the beginning), and the position after it.
    init<Place: Sendable>(
        _ ask: @escaping @Sendable (Place?) async throws(ArchiveError) -> (page: Page, following: Place?)
    ) {
        first = Self.step(nil, ask)
    }

    private static func step<Place: Sendable>(
        _ place: Place?,
        _ ask: @escaping @Sendable (Place?) async throws(ArchiveError) -> (page: Page, following: Place?)
    ) -> @Sendable () async throws(ArchiveError) -> Step {
        { () async throws(ArchiveError) in
            let (page, following) = try await ask(place)
            return Step(page: page, following: following.map { step($0, ask) })
        }
    }

    /// Begins at the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(first: first) }
}
