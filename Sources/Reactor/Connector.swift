import CLinux
import Glibc

/// One attempt of a client to reach an endpoint: resolves the name and tries its addresses in order. Confined to a
/// loop.
///
/// The limit is absolute and begins with the call. Each address gets an equal share of the time that is left, so that an
/// address that drops packets does not use up the time of those after it.
package final class Connector: PollTarget {
    /// Gets the connected socket (non-blocking, TCP_NODELAY set), or the reason why there is none. Called once, on the loop,
    /// and never from within ``connect(to:loop:limitMilliseconds:completion:)``.
    package typealias Completion = (consuming Result<FileDescriptor, ReactorError>) -> Void

    private let endpoint: Endpoint
    private let limitMilliseconds: UInt64
    private let deadline: UInt64
    private var completion: Completion?
    /// The address that is being tried.
    private var current: SocketAddress?
    private var remaining: ArraySlice<SocketAddress> = []
    private var attempts: [ConnectAttempt] = []
    private var deadlineTimer: Timer?
    private var shareTimer: Timer?

    /// Begins an attempt. Only on the loop. The loop holds it until it is over; keep it to be able to cancel.
    @discardableResult
    package static func connect(
        to endpoint: Endpoint, loop: EventLoop, limitMilliseconds: UInt64 = 10_000, completion: @escaping Completion
    ) -> Connector {
        let connector = Connector(endpoint, loop, limitMilliseconds, completion)
        connector.begin()
        return connector
    }

    private init(_ endpoint: Endpoint, _ loop: EventLoop, _ limit: UInt64, _ completion: @escaping Completion) {
        loop.assertOnLoop()
        self.endpoint = endpoint
        limitMilliseconds = limit
        deadline = loop.now + min(limit, .max - loop.now)
        self.completion = completion
        super.init(loop: loop)
    }

    /// Cancels the attempt. The completion gets ``ReactorError/cancelled`` in the next tick. Does nothing if the attempt is
    /// over already.
    package func cancel() {
        guard let completion = completion.take() else { return }
        letGo()
        loop.executeNextTick { completion(.failure(.cancelled)) }
    }

    private func begin() {
        deadlineTimer = loop.schedule(at: deadline) { [self] in
            deadlineTimer = nil
            complete(.failure(.connectTimedOut(endpoint, afterMilliseconds: limitMilliseconds)))
        }
        switch endpoint {
        case .address(let address):
            remaining = [address]
            loop.executeNextTick { self.tryNext() }
        case .name(let host, let port):
            Resolver.resolve(host, port: port, loop: loop) { [self] result in
                switch result {
                case .success(let addresses):
                    remaining = addresses[...]
                    tryNext()
                case .failure(let error): complete(.failure(error))
                }
            }
        }
    }

    private func tryNext() {
        guard completion != nil else { return }
        guard let address = remaining.first else { return complete(.failure(.connectFailed(endpoint, attempts))) }
        let share = (deadline - min(loop.now, deadline)) / UInt64(remaining.count)
        remaining.removeFirst()
        if let failure = begin(address) { return fail(address, failure) }
        shareTimer = loop.schedule(afterMilliseconds: share) { [self] in
            shareTimer = nil
            fail(address, SystemFailure(.connect, ETIMEDOUT))
        }
        current = address
    }

    /// Begins to connect a socket to an address, and watches it. Returns nil, or the call that failed.
    private func begin(_ address: SocketAddress) -> SystemFailure? {
        let raw = loop.syscalls.socket(address.family)
        guard raw >= 0 else { return SystemFailure(.socket, -raw) }
        let descriptor = FileDescriptor(owning: raw)
        if !address.isUnix {
            let answer = loop.syscalls.setOption(raw, LINUX_OPTION_NO_DELAY, 1)
            guard answer >= 0 else { return SystemFailure(.setOption, -answer) }
        }
        let answer = loop.syscalls.connect(raw, address)
        guard answer == 0 || answer == -EINPROGRESS else { return SystemFailure(.connect, -answer) }
        return loop.register(self, descriptor, .writable)
    }

    override func ready(_ events: PollEvents) {
        guard let address = current else { return }
        var code: Int32 = 0
        let answer = loop.syscalls.option(raw, LINUX_OPTION_ERROR, &code)
        guard answer >= 0 else { return fail(address, SystemFailure(.getOption, -answer)) }
        guard code == 0 else { return fail(address, SystemFailure(.connect, code)) }
        do {
            complete(.success(try loop.reclaim(self)))
        } catch {
            complete(.failure(error))
        }
    }

    private func fail(_ address: SocketAddress, _ failure: SystemFailure) {
        attempts.append(ConnectAttempt(address: address, failure: failure))
        current = nil
        if let timer = shareTimer.take() { loop.cancel(timer) }
        loop.unregister(self)
        // In a separate tick: a series of addresses that refuse at once must not become one deep call.
        loop.executeNextTick { self.tryNext() }
    }

    private func letGo() {
        if let timer = deadlineTimer.take() { loop.cancel(timer) }
        if let timer = shareTimer.take() { loop.cancel(timer) }
        loop.unregister(self)
        remaining = []
        current = nil
    }

    private func complete(_ result: consuming Result<FileDescriptor, ReactorError>) {
        guard let completion = completion.take() else { return }
        letGo()
        completion(result)
    }

    override func loopStops() { complete(.failure(.cancelled)) }
}
