import CloseCodes
import HTTP
import LiveClient
import LiveState
import Synchronization
import Testing

@testable import LiveClientURLSession

/// With a task that behaves as `URLSessionWebSocketTask` is documented to; none has run here.
struct SocketChannelTests {
    final class Task: SocketTask {
        var closeFrame: (code: Int, reason: [UInt8])?
        var answerHead: AnswerHead?
        var calls: [String] = []
        var receiving: (@Sendable (Result<String?, TaskFailure>) -> Void)?
        var pings: [@Sendable (TaskFailure?) -> Void] = []

        func resume() { calls.append("resume") }
        func cancel() { calls.append("cancel") }
        func close() { calls.append("close") }
        var sent: (@Sendable (TaskFailure?) -> Void)?

        func send(_ text: String, _ completion: @escaping @Sendable (TaskFailure?) -> Void) {
            calls.append("send \(text)")
            sent = completion
        }

        func receive(_ completion: @escaping @Sendable (Result<String?, TaskFailure>) -> Void) {
            precondition(receiving == nil, "one message is waited for at a time")
            receiving = completion
        }

        func ping(_ completion: @escaping @Sendable (TaskFailure?) -> Void) { pings.append(completion) }
    }

    final class Socket {
        let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
        let channel: SocketChannel

        init(isOpened: Bool = true) throws {
            channel = SocketChannel(try Reports.request(.webSocket), task, on: loop, reports.take)
            if isOpened { channel.receive(.opened) }
        }

        func brings(_ result: Result<String?, TaskFailure>) {
            task.receiving.take()?(result)
            loop.run()
        }
    }

    static let notConnected = TaskFailure(.networkConnectionLost, text: "Socket is not connected")

    @Test func `messages come one after the other`() throws {
        let socket = try Socket()
        socket.brings(.success("a"))
        socket.brings(.success(nil))
        socket.brings(.success("b"))
        #expect(socket.reports.all == ["opened", "a", "alive", "b"])
        socket.channel.send(Array("text".utf8))
        #expect(socket.task.calls == ["resume", "send text"] && socket.task.receiving != nil)
    }

    @Test func `nothing is received while reading is paused, but what is on its way`() throws {
        let socket = try Socket()
        socket.channel.pauseReading()
        socket.brings(.success("a"))
        #expect(socket.reports.all == ["opened", "a"] && socket.task.receiving == nil)
        socket.channel.resumeReading()
        socket.channel.resumeReading()
        #expect(socket.task.receiving != nil)
    }

    @Test func `the close frame counts, whichever callback comes first`() throws {
        let restart = (code: 1012, reason: Array("restart retry_ms=20".utf8))
        for isFailureFirst in [true, false] {
            let socket = try Socket()
            if isFailureFirst { socket.brings(.failure(Self.notConnected)) }
            socket.channel.receive(.closed(code: restart.code, reason: restart.reason))
            if !isFailureFirst { socket.brings(.failure(Self.notConnected)) }
            #expect(socket.reports.all == ["opened"])
            socket.channel.receive(.completed(isFailureFirst ? nil : Self.notConnected))
            #expect(socket.reports.all == ["opened", "closed 1012 restart retry_ms=20"] && socket.loop.waiting == 0)
        }
    }

    static let ends: [(frame: (code: Int, reason: [UInt8])?, report: String)] = [
        (nil, "lost cut"), ((1000, []), "closed 1000 "), ((1005, []), "closed 1005 "),
        ((1006, []), "lost cut"), ((1015, []), "lost cut"), ((1007, []), "closed 1007 "),
        ((4401, Array("token expired".utf8)), "closed 4401 token expired"), ((-1, []), "lost cut"),
        ((70_000, []), "lost cut"),
    ]

    @Test(arguments: ends.indices) func `an end is what the task says of it`(_ index: Int) throws {
        let socket = try Socket()
        socket.task.closeFrame = Self.ends[index].frame
        socket.channel.receive(.completed(Self.notConnected))
        #expect(socket.reports.all == ["opened", Self.ends[index].report])
    }

    @Test func `a task that fails to receive and does not end is given up`() throws {
        let socket = try Socket()
        socket.brings(.failure(Self.notConnected))
        socket.loop.run(until: SocketChannel.endMilliseconds - 1)
        #expect(socket.reports.all == ["opened"])
        socket.loop.run(until: SocketChannel.endMilliseconds)
        #expect(socket.reports.all == ["opened", "lost cut"] && socket.task.calls == ["resume", "cancel"])
        #expect(socket.loop.waiting == 0)
    }

    static let refusals: [(status: Int?, failure: TaskFailure?, report: String)] = [
        (401, TaskFailure(.badServerResponse, text: ""), "refused 401 "),
        (200, TaskFailure(.badServerResponse, text: ""), "refused 200 "),
        (101, TaskFailure(.badServerResponse, text: ""), "lost blocked"),
        (nil, TaskFailure(.cannotConnectToHost, text: ""), "lost unreachable"),
        (nil, TaskFailure(.networkConnectionLost, text: ""), "lost cut"),
        (nil, TaskFailure(.unsupportedURL, text: ""), "lost blocked"), (nil, nil, "lost cut"),
    ]

    @Test(arguments: refusals.indices) func `a handshake that fails says what the server answered`(_ index: Int) throws
    {
        let (socket, row) = (try Socket(isOpened: false), Self.refusals[index])
        var headers = HeaderFields()
        headers.append("Retry-After", "7")
        socket.task.answerHead = row.status.map { AnswerHead(status: $0, headers: headers) }
        socket.channel.receive(.completed(row.failure))
        #expect(socket.reports.all == [row.report] && socket.loop.waiting == 0)
    }

    @Test func `a handshake has a deadline`() throws {
        let socket = try Socket(isOpened: false)
        socket.loop.run(until: SocketChannel.openMilliseconds - 1)
        #expect(socket.reports.all == [])
        socket.loop.run(until: SocketChannel.openMilliseconds)
        #expect(socket.reports.all == ["lost silent"] && socket.task.calls == ["resume", "cancel"])
    }

    @Test func `a process that was suspended does not blame the transport`() throws {
        for (late, report) in [
            (SocketChannel.suspendedMilliseconds, "lost silent"), (SocketChannel.suspendedMilliseconds + 1, "lost cut"),
        ] {
            let socket = try Socket(isOpened: false)
            socket.loop.suspend(until: SocketChannel.openMilliseconds + late)
            #expect(socket.reports.all == [report])
        }
    }

    @Test func `a message that cannot be sent ends it, where the task does not`() throws {
        let socket = try Socket()
        socket.channel.send(Array("text".utf8))
        socket.task.sent?(nil)
        socket.loop.run(until: 5_000)
        socket.task.sent?(Self.notConnected)
        socket.loop.run(until: 5_000 + SocketChannel.endMilliseconds)
        #expect(socket.reports.all == ["opened", "lost cut"])
        socket.channel.send(Array("late".utf8))
        #expect(!socket.task.calls.contains("send late"))
    }

    @Test func `no ping is sent while reading is paused`() throws {
        let socket = try Socket()
        socket.channel.pauseReading()
        socket.loop.run(until: 100_000)
        #expect(socket.task.pings.isEmpty)
        socket.channel.resumeReading()
        socket.loop.run(until: 125_000)
        #expect(socket.task.pings.count == 1)
    }

    @Test func `a task that keeps its handlers for ever keeps no channel`() throws {
        weak var channel: SocketChannel?
        let task = Task()
        do {
            let socket = SocketChannel(try Reports.request(.webSocket), task, on: VirtualLoop(), { _ in })
            channel = socket
            socket.receive(.opened)
            socket.ping()
            #expect(task.receiving != nil && task.pings.count == 1)
            socket.receive(.completed(Self.notConnected))
        }
        #expect(channel == nil)
    }

    @Test func `a ping is sent so often, and its pong is a sign of life`() throws {
        let socket = try Socket()
        socket.loop.run(until: 24_999)
        #expect(socket.task.pings.isEmpty)
        socket.loop.run(until: 50_000)
        #expect(socket.task.pings.count == 2)
        socket.task.pings[0](Self.notConnected)
        socket.task.pings[1](nil)
        // Known of some versions: an answer that comes twice.
        socket.task.pings[1](nil)
        socket.loop.run()
        #expect(socket.reports.all == ["opened", "alive", "alive"])
        socket.channel.end(withWord: false) {}
        socket.task.pings[1](nil)
        socket.loop.run(until: 500_000)
        #expect(socket.reports.all.count == 3 && socket.task.pings.count == 2 && socket.loop.waiting == 0)
    }

    @Test func `our close is over with the task, or after its deadline`() throws {
        for isAnswered in [true, false] {
            let socket = try Socket()
            var isDone = false
            socket.channel.end(withWord: true) { isDone = true }
            #expect(socket.task.calls == ["resume", "close"] && !isDone)
            if isAnswered {
                socket.channel.receive(.completed(nil))
            } else {
                socket.loop.run(until: SocketChannel.closeMilliseconds - 1)
                #expect(!isDone)
                socket.loop.run(until: SocketChannel.closeMilliseconds)
            }
            #expect(isDone && socket.reports.all == ["opened"] && socket.loop.waiting == 0)
        }
    }

    @Test func `what is not open yet, or lost already, is cancelled`() throws {
        for isOpened in [true, false] {
            let socket = try Socket(isOpened: isOpened)
            if isOpened { socket.brings(.failure(Self.notConnected)) }
            var isDone = false
            socket.channel.end(withWord: true) { isDone = true }
            socket.loop.run()
            #expect(isDone && socket.task.calls == ["resume", "cancel"] && socket.loop.waiting == 0)
        }
    }
}
