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
    ///   - listening: called once, with the addresses that are listened on.
    ///   - ready: called once, when clients are let in.
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
        SignalWatch.ignoreBrokenPipes()
        let signals = Signals()
        // Before the first word: whoever reads it may answer with a signal.
        let watches = watchSignals(on: control, signals)
        begun()
        var failure: GatewayError?
        do throws(GatewayError) {
            try await serve(signals, control, listening: listening, ready: ready)
        } catch {
            failure = error
        }
        for watch in watches { watch.cancel() }
        await control.stopped()
        if let failure { throw failure }
    }

    /// From the start of the server to its stop.
    private func serve(
        _ signals: Signals, _ control: EventLoop, listening: @escaping @Sendable ([SocketAddress]) -> Void,
        ready: @escaping @Sendable () -> Void
    ) async throws(GatewayError) {
        let server = GatewayServer(parts, logger: logger, ready: ready) { signals.ended.yield(.failure($0)) }
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
            control.execute {
                control.schedule(afterMilliseconds: UInt64(seconds) * 1000) { signals.ended.yield(.timeIsUp) }
            }
        }
        let ending = await signals.endings.first { _ in true }
        var failure: GatewayError?
        switch ending {
        case .failure(let error): failure = error
        case .signal(let name): logger.notice("stopping", [.signal: .text(name)])
        case .timeIsUp, nil: logger.notice("stopping")
        }
        let hurrying = Task { for await _ in signals.hurries { await server.hurry() } }
        await server.stop()
        hurrying.cancel()
        if let failure { throw failure }
    }

    /// What comes from outside.
    private struct Signals: Sendable {
        let endings: AsyncStream<Ending>
        let ended: AsyncStream<Ending>.Continuation
        /// Signals after the one that asked for the stop: it is to wait for nobody.
        let hurries: AsyncStream<Void>
        let hurry: AsyncStream<Void>.Continuation

        init() {
            (endings, ended) = AsyncStream.makeStream(of: Ending.self)
            (hurries, hurry) = AsyncStream.makeStream(of: Void.self)
        }
    }

    /// The first signal asks for a stop; with another one it waits for no client. SIGHUP ends nothing.
    private func watchSignals(on loop: EventLoop, _ signals: Signals) -> [SignalWatch] {
        let isSecond = OnceFlag()
        let stops = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")].map { number, name in
            SignalWatch(number, loop: loop) {
                if isSecond.raise() { signals.ended.yield(.signal(name)) } else { signals.hurry.yield() }
            }
        }
        let hangUp = SignalWatch(SIGHUP, loop: loop) { [logger] in
            logger.notice("signal ignored: settings are read at the start alone", [.signal: "SIGHUP"])
        }
        return stops + [hangUp]
    }
}

/// Raised once, by whoever comes first.
private final class OnceFlag: Sendable {
    private let isRaised = Atomic<Bool>(false)

    /// True for the first caller only.
    func raise() -> Bool { !isRaised.exchange(true, ordering: .relaxed) }
}
