import Foundation
import HTTP
@_exported public import LiveClient
import Locks

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension LiveTransport {
    /// Uses `URLSession`: the network of apps on Apple's platforms, with the system's proxies, VPNs and trust.
    ///
    /// It trusts only the system's authorities: ``LiveClientConfiguration/certificateAuthorities`` is refused.
    public static var urlSession: LiveTransport {
        LiveTransport { trust throws(LiveClientError) in
            if let authorities = trust.authorities {
                throw .tls(
                    "certificateAuthorities is '\(authorities)', but URLSession trusts the system's authorities alone; "
                        + "leave it out, and have the system trust them")
            }
            return URLSessionNetwork()
        }
    }
}

extension LiveClientConfiguration {
    /// Makes a configuration for an address, with the defaults and ``LiveTransport/urlSession``.
    public init(url: String) { self.init(url: url, transport: .urlSession) }
}

/// One client's session and the queue of its channels.
final class URLSessionNetwork: ClientNetwork {
    private struct Opened: Sendable {
        let session: URLSession
        let tasks: Confined<TaskTable>
    }

    private enum State: Sendable {
        /// The first channel makes the session, on the loop.
        case new
        case open(Opened)
        case ended
    }

    private let state: Lock<State>
    let loop: any ClientLoop

    init() {
        let state = Lock(State.new)
        self.state = state
        // A session holds its delegate until it is invalidated.
        loop = QueueLoop {
            let opened = state.withLock { state -> Opened? in
                defer { state = .ended }
                if case .open(let opened) = state { return opened }
                return nil
            }
            opened?.session.invalidateAndCancel()
        }
    }

    func open(_ request: StreamRequest, _ report: @escaping (ChannelEvent) -> Void) -> any LiveChannel {
        guard let asked = URLRequest(request) else {
            return RefusedChannel(
                "URLSession does not accept an address such as '\(request.url.host)'", on: loop, report)
        }
        guard let opened = session() else { return RefusedChannel("the client has ended", on: loop, report) }
        guard request.form == .webSocket else {
            let task = opened.session.dataTask(with: asked)
            let channel = RequestChannel(request, task, on: loop, report)
            opened.tasks.value.add(channel, of: task)
            return channel
        }
        let task = opened.session.webSocketTask(with: asked)
        task.maximumMessageSize = request.maximumMessageBytes
        let channel = SocketChannel(request, task, on: loop, report)
        opened.tasks.value.add(channel, of: task)
        return channel
    }

    /// Nil behind the end.
    private func session() -> Opened? {
        state.withLock { [loop] state in
            switch state {
            case .ended: return nil
            case .open(let opened): return opened
            case .new:
                let opened = Self.begin(on: loop)
                state = .open(opened)
                return opened
            }
        }
    }

    private static func begin(on loop: any ClientLoop) -> Opened {
        let tasks = Confined(TaskTable(), loop: loop)
        let session = URLSession(
            configuration: configuration(), delegate: TaskDelegate(tasks), delegateQueue: nil)
        return Opened(session: session, tasks: tasks)
    }

    /// Nothing of one request is kept for the next: no cookies, no cache, no credentials. The channels have their own deadlines,
    /// and `ConnectionMachine` decides when to wait for a network.
    static func configuration() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        return configuration
    }
}

extension URLRequest {
    /// Longer than any stream: a task's own timeouts would end a stream that is silent for long.
    private static let timeout: TimeInterval = 7 * 86_400

    /// Nil for an address that URLSession cannot express.
    init?(_ request: StreamRequest) {
        guard case .host = request.url.destination else { return nil }
        let isSocket = request.form == .webSocket
        let scheme = (isSocket ? "ws" : "http") + (request.url.isSecure ? "s" : "")
        guard let url = URL(string: "\(scheme)://\(request.url.host)\(request.url.target)") else { return nil }
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.timeout)
        switch request.form {
        case .webSocket:
            if !request.protocols.isEmpty {
                setValue(request.protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
            }
        case .eventStream: setValue(EventStream.contentType, forHTTPHeaderField: "Accept")
        case .document: setValue("application/json", forHTTPHeaderField: "Accept")
        }
        if let body = request.jsonBody, !isSocket {
            httpMethod = "POST"
            httpBody = Data(body)
            setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        for header in request.headers { addValue(header.value, forHTTPHeaderField: header.name) }
    }
}

/// A request that was refused before anything was sent, as a channel that has ended.
final class RefusedChannel: LiveChannel {
    private let loop: any ClientLoop
    private var report: ((ChannelEvent) -> Void)?

    init(_ why: String, on loop: any ClientLoop, _ report: @escaping (ChannelEvent) -> Void) {
        self.loop = loop
        self.report = report
        // The caller has to receive the channel first. The closure keeps it alive until then.
        loop.executeNextTick { self.report.take()?(.ended(.invalid(why))) }
    }

    func send(_ text: [UInt8]) {}

    func ping() {}

    func pauseReading() {}

    func resumeReading() {}

    func end(withWord: Bool, _ done: @escaping () -> Void) {
        report = nil
        loop.executeNextTick(done)
    }
}
