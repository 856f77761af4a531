import Glibc
import Logging
import Reactor

/// Runs a gateway as a program does: until a signal, a time, or an error that it cannot survive.
package struct Service: Sendable {
    /// Why it is to stop. A signal may come again.
    private enum Ending: Sendable {
        case terminate
        case interrupt
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
            await server.interrupt()
            await server.stopped()
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
        let obeying = Task { await obey(signals, server) }
        await server.stopped()
        signals.ended.finish()
        if let failure = await obeying.value { throw failure }
    }

    /// Hands on what comes from outside until the server has stopped; returns the error that it did not survive.
    private func obey(_ signals: Signals, _ server: GatewayServer) async -> GatewayError? {
        var failure: GatewayError?
        for await ending in signals.endings {
            switch ending {
            case .terminate:
                logger.notice("signal received", [.signal: "SIGTERM"])
                await server.terminate()
            case .interrupt:
                logger.notice("signal received", [.signal: "SIGINT"])
                await server.interrupt()
            case .timeIsUp: await server.interrupt()
            case .failure(let error):
                failure = failure ?? error
                await server.interrupt()
            }
        }
        return failure
    }

    /// What comes from outside.
    private struct Signals: Sendable {
        let endings: AsyncStream<Ending>
        let ended: AsyncStream<Ending>.Continuation

        init() {
            (endings, ended) = AsyncStream.makeStream(of: Ending.self)
        }
    }

    /// SIGHUP ends nothing.
    private func watchSignals(on loop: EventLoop, _ signals: Signals) -> [SignalWatch] {
        let stops = [(SIGTERM, Ending.terminate), (SIGINT, Ending.interrupt)].map { number, ending in
            SignalWatch(number, loop: loop) { signals.ended.yield(ending) }
        }
        let hangUp = SignalWatch(SIGHUP, loop: loop) { [logger] in
            logger.notice("signal ignored: settings are read at the start alone", [.signal: "SIGHUP"])
        }
        return stops + [hangUp]
    }
}
