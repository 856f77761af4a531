import Dispatch
import HTTP
import Reactor
import Synchronization
import TLS
import Testing
import Transport

/// What a scripted server does with a connection, one step after the other.
enum Step: Sendable {
    /// Waits for a request head.
    case awaitHead
    /// Waits for so many bytes behind what was awaited before.
    case awaitBytes(Int)
    case send([UInt8])
    /// Answers the head that was awaited last with 101 and these fields.
    case upgrade([String] = [])
    case close
    /// Sends a byte every few milliseconds until the connection ends.
    case trickle(UInt8)
    /// Leaves the connection alone for ever.
    case silence

    static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
}

/// A server that follows a script for each connection; the last script serves all further ones.
final class ScriptedServer: Sendable {
    let loop: EventLoop
    let port: UInt16
    private let seen = Mutex<[[UInt8]]>([])

    init(_ scripts: [Step]..., at address: SocketAddress = .loopback(port: 0)) throws {
        let loop = try EventLoop(label: "server")
        self.loop = loop
        let port = Mutex<UInt16>(0)
        let weakSelf = Mutex<(@Sendable ([UInt8]) -> Void)?>(nil)
        let report: @Sendable ([UInt8]) -> Void = { bytes in weakSelf.withLock { $0 }?(bytes) }
        loop.wait {
            let shared = TransportLoop(loop: loop)
            var next = 0
            let listener = try? Listener(address: address, loop: loop) { descriptor, _ in
                let script = scripts[min(next, scripts.count - 1)]
                next += 1
                let peer = ScriptedPeer(script, loop: loop, report)
                guard let transport = try? Transport<ScriptedPeer>(descriptor, security: .plain, on: shared) else {
                    return
                }
                peer.transport = transport
                transport.start(peer)
            }
            port.withLock { $0 = listener?.address.port ?? 0 }
        }
        self.port = port.withLock { $0 }
        weakSelf.withLock { box in
            box = { [weak self] bytes in self?.seen.withLock { $0.append(bytes) } }
        }
    }

    deinit { loop.stop() }

    /// What the steps that wait were given, in order.
    var received: [[UInt8]] { seen.withLock { $0 } }
}

extension EventLoop {
    /// Runs work on the loop and waits for it.
    func wait(_ work: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        execute {
            work()
            done.signal()
        }
        precondition(done.wait(timeout: .now() + .seconds(60)) == .success, "the loop hangs")
    }
}

/// One connection of a scripted server.
private final class ScriptedPeer: TransportOwner {
    private var steps: ArraySlice<Step>
    private let loop: EventLoop
    private let report: @Sendable ([UInt8]) -> Void
    private var bytes: [UInt8] = []
    private var head: [UInt8] = []
    var transport: Transport<ScriptedPeer>?

    init(_ steps: [Step], loop: EventLoop, _ report: @escaping @Sendable ([UInt8]) -> Void) {
        self.steps = steps[...]
        self.loop = loop
        self.report = report
    }

    func transportOpened() { run() }

    func transportReceived(_ bytes: Span<UInt8>) {
        for index in 0..<bytes.count { self.bytes.append(bytes[index]) }
        run()
    }

    func transportEnded(_ end: TransportEnd) { transport = nil }

    private func run() {
        while let step = steps.first {
            switch step {
            case .awaitHead:
                guard let end = headEnd else { return }
                head = Array(bytes[..<end])
                take(end)
            case .awaitBytes(let count):
                guard bytes.count >= count else { return }
                take(count)
            case .send(let bytes): transport?.write(bytes)
            case .upgrade(let fields): transport?.write(answer(fields))
            case .close: transport?.close()
            case .trickle(let byte): return trickle(byte)
            case .silence: return
            }
            steps.removeFirst()
        }
    }

    private func trickle(_ byte: UInt8) {
        guard let transport else { return }
        transport.write([byte])
        loop.schedule(afterMilliseconds: 5) { self.trickle(byte) }
    }

    private func take(_ count: Int) {
        report(Array(bytes[..<count]))
        bytes.removeFirst(count)
    }

    private var headEnd: Int? {
        guard bytes.count >= 4 else { return nil }
        return (4...bytes.count).first { bytes[($0 - 4)..<$0].elementsEqual([13, 10, 13, 10]) }
    }

    private func answer(_ fields: [String]) -> [UInt8] {
        var parser = RequestParser()
        let head = head
        guard case .head(let request, _) = parser.consume(head.span) else { return [] }
        guard let key = request.headers.first("sec-websocket-key") else { return [] }
        let accept = Base64.encode(Digest.sha1(WebSocketKey.acceptInput(key)))
        let answer = String(decoding: UpgradeResponse.serialized(accept: accept), as: UTF8.self)
        return Array((answer.dropLast() + fields.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
    }
}
