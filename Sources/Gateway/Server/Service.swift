import Glibc
import Logging
import Reactor
import Synchronization

/// Runs a gateway as a program does: until a signal, a time, or an error that it cannot survive.
package struct Service: Sendable {
    /// Why it stopped.
    private enum Ending: Sendable {
        case signal(String)
        case timeIsUp
        case failure(GatewayError)
    }

    private let parts: GatewayServer.Parts
    private let logger: Logger
    /// Ends by itself after so long; nil never.
    private let seconds: Int?

    package init(_ parts: GatewayServer.Parts, logger: Logger, seconds: Int? = nil) {
        self.parts = parts
        self.logger = logger
        self.seconds = seconds
    }

    /// Returns after a stop that was asked for.
    ///
    /// - Parameters:
    ///   - begun: called first, when a signal already stops the program as it should.
    ///   - listening: told the addresses once they are listened on.
    ///   - ready: told once, when clients are let in.
    package func run(
        begun: () -> Void = {},
        listening: @escaping @Sendable ([SocketAddress]) -> Void = { _ in },
        ready: @escaping @Sendable () -> Void = {}
    ) async throws(GatewayError) {
        let control: EventLoop
        do throws(ReactorError) {
            control = try EventLoop(label: "control")
            _ = try ProcessLimits.raiseDescriptorLimit()
        } catch {
            throw .system(error)
        }
        defer { control.stop() }
        SignalWatch.ignoreBrokenPipes()
        let (endings, told) = AsyncStream.makeStream(of: Ending.self)
        // Before the first word: whoever reads it may answer with a signal.
        let watches = watchSignals(on: control) { told.yield(.signal($0)) }
        defer { for watch in watches { watch.cancel() } }
        begun()
        let server = GatewayServer(parts, logger: logger, ready: ready) { told.yield(.failure($0)) }
        do {
            try await server.start()
        } catch {
            await server.stop()
            throw error
        }
        let (addresses, admin) = (await server.addresses, await server.adminAddress)
        logger.notice(
            "listening",
            [
                .address: .text(addresses.map { "\($0)" }.joined(separator: " ")),
                .admin: admin.map { .text("\($0)") } ?? .absent,
            ])
        listening(addresses)
        if let seconds {
            control.execute { control.schedule(afterMilliseconds: UInt64(seconds) * 1000) { told.yield(.timeIsUp) } }
        }
        let ending = await endings.first { _ in true }
        var failure: GatewayError?
        switch ending {
        case .failure(let error): failure = error
        case .signal(let name): logger.notice("stopping", [.signal: .text(name)])
        case .timeIsUp, nil: logger.notice("stopping")
        }
        await server.stop()
        if let failure { throw failure }
    }

    /// The first signal asks for a stop; another one does not wait for it.
    private func watchSignals(
        on loop: EventLoop, _ asked: @escaping @Sendable (String) -> Void
    ) -> [SignalWatch] {
        let isSecond = OnceFlag()
        return [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")].map { number, name in
            SignalWatch(number, loop: loop) {
                if isSecond.raise() { asked(name) } else { exit(0) }
            }
        }
    }
}

/// Raised once, by whoever comes first.
private final class OnceFlag: Sendable {
    private let isRaised = Atomic<Bool>(false)

    /// True for the first caller only.
    func raise() -> Bool { !isRaised.exchange(true, ordering: .relaxed) }
}
