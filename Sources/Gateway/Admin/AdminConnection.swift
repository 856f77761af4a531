import Balancer
import HTTP
import Reactor

/// A connection to the administration address: one request after the other, each read when the answer to the one before
/// has left. Confined to its loop.
final class AdminConnection {
    /// From an answer to the first byte of the next request: longer than the usual clients keep idle connections.
    static let idleMilliseconds: UInt64 = 75_000
    /// How long a peer may need to read an answer, or a piece of one, before the connection is cut.
    static let takingMilliseconds: UInt64 = 30_000
    /// How long a peer may need for its own end after the last answer, where half of the allowed connections are in use: some
    /// round trips in a data centre.
    static let hurriedMilliseconds: UInt64 = 200

    private enum Phase {
        case reading(AdminRequestReader)
        /// Another loop is being asked.
        case answering
        /// An answer, or a piece of one, is being sent. Nothing is read meanwhile.
        case writing((any AdminPages)?)
        case ending
    }

    private let stream: ByteStream<AdminConnection>
    private let loop: EventLoop
    private let site: any AdminSite
    private let owner: AdminConnections
    private let peer: ClientAddress
    private var phase = Phase.reading(AdminRequestReader())
    private var deadline: Timer?
    /// Bytes that followed the request that is being answered.
    private var early = EarlyBytes()
    private var request: AdminRequest?
    /// Whether nothing of a request has come since the last answer.
    private var isIdle = false
    /// The last answer has left, and only the peer's end is awaited.
    private var isLingering = false

    init(
        _ descriptor: consuming FileDescriptor, peer: ClientAddress, loop: EventLoop, _ site: any AdminSite,
        _ owner: AdminConnections
    ) {
        self.peer = peer
        stream = ByteStream(descriptor, loop: loop)
        self.loop = loop
        self.site = site
        self.owner = owner
    }

    func start() {
        setDeadline(site.requestMilliseconds)
        stream.start(self)
    }

    /// Which connection is closed first for another peer when the limit is reached.
    enum Patience: Int {
        /// The last answer has left: only the peer's end is awaited.
        case lingering
        /// Nothing of a request has come since the last answer.
        case idle
        /// Nothing has come at all.
        case silent
        /// A request that is not whole.
        case unfinished
        /// An answer, or a piece of one, that has not left: a peer that does not read keeps it so.
        case writing
        /// A request that is being answered.
        case answering
    }

    var patience: Patience {
        switch phase {
        case .reading(let reader): isIdle ? .idle : reader.hasBegun ? .unfinished : .silent
        case .answering: .answering
        case .writing: .writing
        case .ending: isLingering ? .lingering : .writing
        }
    }

    /// Ends it at once: a connection closed for another peer does not linger, since nothing would count it then.
    func yieldSlot() {
        setDeadline(nil)
        phase = .ending
        stream.close(afterFlush: false)
    }

    private func setDeadline(_ milliseconds: UInt64?) {
        if let timer = deadline.take() { loop.cancel(timer) }
        guard let milliseconds else { return }
        deadline = loop.schedule(afterMilliseconds: milliseconds) { [self] in
            deadline = nil
            deadlineHasPassed()
        }
    }

    private func deadlineHasPassed() {
        switch phase {
        case .reading(let reader):
            // A peer that has sent nothing expects no answer.
            if reader.hasBegun { refuse(.timeout) } else { finish() }
        case .writing: stream.close(afterFlush: false)
        case .answering, .ending: break
        }
    }

    // MARK: - Reading

    private func receive(_ bytes: Span<UInt8>, _ reader: AdminRequestReader) {
        if isIdle {
            isIdle = false
            setDeadline(site.requestMilliseconds)
        }
        var reader = reader
        let progress = reader.consume(bytes)
        if reader.owesContinue {
            reader.owesContinue = false
            stream.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        phase = .reading(reader)
        switch progress {
        case .needMore: break
        case .refused(let refusal): refuse(refusal)
        case .request(var request, let consumed):
            request.peer = peer
            early.append(bytes.extracting(droppingFirst: consumed))
            answer(request)
        }
    }

    private func awaitNext() {
        let reader = AdminRequestReader()
        phase = .reading(reader)
        request = nil
        guard early.count > 0 else {
            isIdle = true
            setDeadline(Self.idleMilliseconds)
            return stream.resumeReading()
        }
        setDeadline(site.requestMilliseconds)
        let waiting = early
        early = EarlyBytes()
        waiting.consume { receive($0, reader) }
        if case .reading = phase { stream.resumeReading() }
    }

    // MARK: - Answering

    private func answer(_ request: AdminRequest) {
        setDeadline(nil)
        stream.pauseReading()
        self.request = request
        do throws(AdminRefusal) {
            switch try site.reply(to: request) {
            case .now(let answer): write(answer)
            case .later(let make): answerLater(make)
            }
        } catch {
            write(error.answer)
        }
    }

    private func answerLater(_ make: @escaping @Sendable () async throws(AdminRefusal) -> AdminAnswer) {
        phase = .answering
        let (loop, this) = (loop, LoopBound(self, loop: loop))
        Task {
            let answer: AdminAnswer
            do throws(AdminRefusal) {
                answer = try await make()
            } catch {
                answer = error.answer
            }
            loop.execute { this.value.write(answer) }
        }
    }

    private func write(_ answer: AdminAnswer) {
        if case .ending = phase { return }
        guard let request else { preconditionFailure("an answer that nobody asked for") }
        var pages: (any AdminPages)?
        if case .pages(let more) = answer.body, !request.isHead { pages = more }
        phase = .writing(pages)
        stream.write(
            answer.serialized(
                date: site.date, withoutBody: request.isHead, keepsAlive: request.keepsAlive,
                isChunked: request.head.version == .http11))
        setDeadline(Self.takingMilliseconds)
    }

    /// What was written has left.
    private func written() {
        guard case .writing(let pages) = phase else { return }
        guard let pages else {
            guard request?.keepsAlive == true else { return finish() }
            return awaitNext()
        }
        setDeadline(nil)
        phase = .answering
        let (loop, this) = (loop, LoopBound(self, loop: loop))
        Task {
            let piece = await pages.next()
            loop.execute { this.value.write(piece, of: pages) }
        }
    }

    private func write(_ piece: [UInt8]?, of pages: any AdminPages) {
        if case .ending = phase { return }
        let isChunked = request?.head.version == .http11
        guard piece != nil || isChunked else { return finish() }
        phase = .writing(piece == nil ? nil : pages)
        stream.write(isChunked ? AdminAnswer.chunk(piece) : piece ?? [])
        setDeadline(Self.takingMilliseconds)
    }

    /// Answers input that is not a request, and ends.
    private func refuse(_ refusal: AdminRefusal) {
        stream.write(
            refusal.answer.serialized(
                date: site.date, withoutBody: false, keepsAlive: false, isChunked: false))
        finish()
    }

    private func finish() {
        setDeadline(nil)
        phase = .ending
        stream.close(afterFlush: true, limitMilliseconds: owner.lingerMilliseconds)
    }
}

extension AdminConnection: ByteStreamOwner {
    func streamReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .reading(let reader): receive(bytes, reader)
        case .answering, .writing: early.append(bytes)
        case .ending: break
        }
    }

    func streamDrained() { written() }

    func streamFlushed() { isLingering = true }

    func streamEnded(_ reason: StreamEnd) {
        setDeadline(nil)
        phase = .ending
        owner.remove(self)
    }
}

@available(*, unavailable)
extension AdminConnection: Sendable {}

/// The connections of the administration address. Confined to their loop.
final class AdminConnections {
    /// Probes of a balancer's processes, a scraper or two, some people. Each may hold a request's head and body, what it has
    /// sent ahead, and a piece of an answer; and all of them are far fewer than the descriptors that are kept back.
    static let maximumConnections = 64

    private let site: any AdminSite
    private let loop: EventLoop
    /// In the order in which they came.
    private var connections: [AdminConnection] = []

    init(_ site: any AdminSite, loop: EventLoop) {
        self.site = site
        self.loop = loop
    }

    /// At the limit one connection is closed for the new one; of several alike, the oldest. So a peer that holds connections,
    /// even silent or answered ones, does not keep a probe out. Every descriptor counts until its end.
    func accept(_ descriptor: consuming FileDescriptor, peer: ClientAddress) {
        if connections.count >= Self.maximumConnections, let index = Self.indexToClose(connections.map(\.patience)) {
            connections.remove(at: index).yieldSlot()
        }
        let connection = AdminConnection(descriptor, peer: peer, loop: loop, site, self)
        connections.append(connection)
        connection.start()
    }

    /// The index of the connection that is closed for another; nil without connections.
    static func indexToClose(_ connections: [AdminConnection.Patience]) -> Int? {
        connections.indices.min { connections[$0].rawValue < connections[$1].rawValue }
    }

    /// What a peer has for its own end.
    fileprivate var lingerMilliseconds: UInt64 { Self.lingerMilliseconds(connections: connections.count) }

    static func lingerMilliseconds(connections: Int) -> UInt64 {
        connections * 2 >= maximumConnections
            ? AdminConnection.hurriedMilliseconds : ByteStream<AdminConnection>.lingerLimitMilliseconds
    }

    fileprivate func remove(_ connection: AdminConnection) { connections.removeAll { $0 === connection } }
}

@available(*, unavailable)
extension AdminConnections: Sendable {}
