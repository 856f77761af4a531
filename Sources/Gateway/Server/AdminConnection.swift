import HTTP
import Reactor

/// One request on the administration address: `GET /livez`, `GET /readyz`. Answers and closes. Confined to its loop.
final class AdminConnection {
    /// The whole request, absolute. Probes come from next door.
    static let timeoutMilliseconds: UInt64 = 5_000

    private let stream: ByteStream<AdminConnection>
    private let loop: EventLoop
    private let readiness: NodeReadiness
    private var parser = RequestParser(limits: RequestLimits())
    private var timer: Timer?

    init(_ descriptor: consuming FileDescriptor, loop: EventLoop, readiness: NodeReadiness) {
        stream = ByteStream(descriptor, loop: loop)
        self.loop = loop
        self.readiness = readiness
    }

    func start() {
        timer = loop.schedule(afterMilliseconds: Self.timeoutMilliseconds) {
            self.timer = nil
            self.stream.close(afterFlush: false)
        }
        stream.start(self)
    }

    private static var date: String { HTTPDate.text(secondsSince1970: Int(WallClock.milliseconds / 1000)) }

    private func answer(_ head: RequestHead) -> [UInt8] {
        let date = Self.date
        let isHead = head.method == "HEAD"
        guard head.path == "/livez" || head.path == "/readyz" else {
            return Refusal(.notFound).serialized(date: date, withoutBody: isHead)
        }
        guard head.method == "GET" || isHead else {
            return Refusal(.methodNotAllowed, allow: "GET, HEAD").serialized(date: date)
        }
        guard head.path == "/readyz" else { return text(200, "ok", date, isHead) }
        switch readiness.verdict(now: loop.now) {
        case .ready: return text(200, "ready", date, isHead)
        case .draining: return text(503, "draining", date, isHead)
        case .notReady(let why): return text(503, "not ready: \(why)", date, isHead)
        }
    }

    private func text(_ status: Int, _ sentence: String, _ date: String, _ withoutBody: Bool) -> [UInt8] {
        Response(
            status: status, contentType: "text/plain; charset=utf-8", fields: [("Cache-Control", "no-store")],
            body: Array("\(sentence)\n".utf8), keepsConnection: false
        ).serialized(date: date, withoutBody: withoutBody)
    }
}

extension AdminConnection: ByteStreamOwner {
    func streamReceived(_ bytes: Span<UInt8>) {
        switch parser.consume(bytes) {
        case .needMore: return
        case .head(let head, _): stream.write(answer(head))
        case .refused(let refusal): stream.write(refusal.serialized(date: Self.date))
        }
        stream.close(afterFlush: true)
    }

    func streamEnded(_ reason: StreamEnd) {
        if let timer = timer.take() { loop.cancel(timer) }
    }
}

@available(*, unavailable)
extension AdminConnection: Sendable {}
