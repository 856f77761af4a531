#if canImport(Darwin) || LIVEGATE_URLSESSION
    import Foundation
    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif
    import CloseCodes

    /// The place of Apple's network stack: it knows proxies, VPNs and the cellular radio's ways, and is what an app should use
    /// there. Untested: no program has used it so far. It compiles against the URLSession of Linux, as
    /// `Tests/EndToEnd/test_urlsession_transport.py` sees with `LIVEGATE_URLSESSION`; programs on Linux leave it out, and with it
    /// Foundation.
    ///
    /// Only ``ConnectionWay/webSocket`` is written: ``LiveClientConfiguration/ways`` has to name it alone. Anything else ends as
    /// ``ChannelEnding/invalid(_:)``. An event stream and
    /// a poll would be a data task whose delegate reports bytes, with status and `Retry-After` from its `HTTPURLResponse`.
    /// Whatever reports on a queue of its own hops to the loop. `waitsForConnectivity` stays off: when to wait is decided by
    /// ``ConnectionMachine``.
    final class URLSessionNetwork: ClientNetwork {
        let loop: any ClientLoop

        init(on loop: any ClientLoop) { self.loop = loop }

        func open(_ request: StreamRequest, _ report: @escaping (ChannelEvent) -> Void) -> any LiveChannel {
            guard request.form == .webSocket else {
                return RefusedChannel("the transport carries no \(request.form)", on: loop, report)
            }
            guard let url = URL(string: request.url.description) else {
                return RefusedChannel("URLSession does not take the address", on: loop, report)
            }
            return URLSessionChannel(url, request, on: loop, report)
        }
    }

    /// What was refused before anything was sent, as a channel that has ended.
    private final class RefusedChannel: LiveChannel {
        private let loop: any ClientLoop
        private var report: ((ChannelEvent) -> Void)?

        init(_ why: String, on loop: any ClientLoop, _ report: @escaping (ChannelEvent) -> Void) {
            self.loop = loop
            self.report = report
            // Whoever opens it has to have it first. It holds itself until then.
            loop.executeNextTick {
                self.report?(.ended(.invalid(why)))
                self.report = nil
            }
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

    /// URLSession follows redirects by itself, headers included: a token would go wherever a server says. Livegate sends
    /// none, so the answer ends the attempt as it does with `LiveClientReactor`.
    private final class NoRedirects: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }

    /// A WebSocket over URLSession.
    private final class URLSessionChannel: LiveChannel {
        private let loop: any ClientLoop
        private let task: URLSessionWebSocketTask
        private var report: ((ChannelEvent) -> Void)?
        private var isPaused = false
        private var isReceiving = false

        init(
            _ url: URL, _ settings: StreamRequest, on loop: any ClientLoop,
            _ report: @escaping (ChannelEvent) -> Void
        ) {
            self.loop = loop
            self.report = report
            var request = URLRequest(url: url)
            for header in settings.headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
            request.timeoutInterval = 10
            let session = URLSession(configuration: .ephemeral, delegate: NoRedirects(), delegateQueue: nil)
            task = session.webSocketTask(with: request)
            task.maximumMessageSize = settings.maximumMessageBytes
            task.resume()
            // A session keeps what it has until it is told that nothing follows.
            session.finishTasksAndInvalidate()
            // A pong proves that the upgrade was accepted.
            ask(.opened)
            receive()
        }

        private func ask(_ answer: ChannelEvent) {
            let bound = Confined(self, loop: loop)
            task.sendPing { error in
                guard error == nil else { return }
                bound.loop.execute { bound.value.report?(answer) }
            }
        }

        private func receive() {
            guard !isPaused, !isReceiving else { return }
            isReceiving = true
            let bound = Confined(self, loop: loop)
            task.receive { result in
                bound.loop.execute { bound.value.received(result) }
            }
        }

        private func received(_ result: Result<URLSessionWebSocketTask.Message, any Error>) {
            isReceiving = false
            switch result {
            case .success(.string(let text)): report?(.message(Array(text.utf8)))
            case .success: report?(.alive)
            case .failure(let error): return end(error)
            }
            receive()
        }

        private func end(_ error: any Error) {
            let reason = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
            let ending: ChannelEnding =
                task.closeCode == .invalid
                ? .lost(.cut, error.localizedDescription)
                : .closed(CloseCode(rawValue: UInt16(task.closeCode.rawValue)), reason: reason)
            report?(.ended(ending))
            report = nil
        }

        func send(_ text: [UInt8]) { task.send(.string(String(decoding: text, as: UTF8.self))) { _ in } }

        func ping() { ask(.alive) }

        func pauseReading() { isPaused = true }

        func resumeReading() {
            isPaused = false
            receive()
        }

        func end(withWord: Bool, _ done: @escaping () -> Void) {
            report = nil
            if withWord { task.cancel(with: .normalClosure, reason: nil) } else { task.cancel() }
            loop.executeNextTick(done)
        }
    }
#endif
