import Glibc
import Logging
import Reactor
import Synchronization

/// Runs a gateway as a program does: until a signal, a time, or an error that it cannot survive.
package struct Service: Sendable {
    /// Why it is to stop. A signal may arrive again.
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
    /// Nil: there is nothing to be read again.
    private let reloads: ReloadSource?

    package init(
        _ parts: GatewayServer.Parts, logger: Logger, seconds: Int? = nil, reloads: ReloadSource? = nil
    ) {
        self.reloads = reloads
        self.parts = parts
        self.logger = logger
        self.seconds = seconds
    }

    /// Returns after a stop that was asked for.
    ///
    /// - Parameters:
    ///   - begun: called first, when a signal already stops the program as it should.
    ///   - ready: called once, when clients are let in, with the addresses that are listened on.
    package func run(
        begun: () -> Void = {},
        ready: @escaping @Sendable ([SocketAddress]) -> Void = { _ in }
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
        let opening = NodeOpening(ready)
        let server = GatewayServer(parts, logger: logger, ready: opening.becomeReady) {
            signals.ended.yield(.failure($0))
        }
        let reloading = try await makeReloading(server)
        // Before the first output: its reader may answer with a signal.
        let watches = watchSignals(on: control, signals, reloading)
        begun()
        var failure: GatewayError?
        do throws(GatewayError) {
            try await serve(server, signals, control, reloading, opening)
        } catch {
            failure = error
        }
        for watch in watches { watch.cancel() }
        // Not waited for: it may read a file of a disk that hangs.
        reloading?.reloader.loop.stop()
        await control.stopped()
        if let failure { throw failure }
    }

    /// From the start of the server to its stop.
    private func serve(
        _ server: GatewayServer, _ signals: Signals, _ control: EventLoop, _ reloading: Reloading?,
        _ opening: NodeOpening
    ) async throws(GatewayError) {
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
        opening.listen(on: addresses)
        if let seconds {
            control.execute {
                control.schedule(afterMilliseconds: UInt64(seconds) * 1000) { signals.ended.yield(.timeIsUp) }
            }
        }
        let adopting = Task { if let reloading { for await parts in reloading.adopted { await server.adopt(parts) } } }
        reloading?.reloader.loop.execute { reloading?.reloader.value.start() }
        let obeying = Task { await obey(signals, server) }
        await server.stopped()
        signals.ended.finish()
        adopting.cancel()
        if let failure = await obeying.value { throw failure }
    }

    /// Passes on signals, errors and the end of the time until the server has stopped; returns its fatal error.
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

    /// Signals, errors and the end of the time.
    private struct Signals: Sendable {
        let endings: AsyncStream<Ending>
        let ended: AsyncStream<Ending>.Continuation

        init() {
            (endings, ended) = AsyncStream.makeStream(of: Ending.self)
        }
    }

    /// The reloader, and the parts that it gives to the gateway; only the newest matter.
    private struct Reloading: Sendable {
        let reloader: LoopBound<Reloader>
        let adopted: AsyncStream<GatewayServer.Parts>
    }

    private func makeReloading(_ server: GatewayServer) async throws(GatewayError) -> Reloading? {
        guard let reloads else { return nil }
        let loop: EventLoop
        do throws(ReactorError) {
            loop = try EventLoop(label: "reload")
        } catch {
            throw .system(error)
        }
        let (adopted, adopt) = AsyncStream.makeStream(
            of: GatewayServer.Parts.self, bufferingPolicy: .bufferingNewest(1))
        let (parts, logger) = (parts, logger.named("reload"))
        let readiness = server.readiness
        let reloader = await loop.perform {
            LoopBound(
                Reloader(
                    reloads, parts: parts, loop: loop, logger: logger, record: server.reloads, readiness: readiness
                ) { adopt.yield($0) }, loop: loop)
        }
        return Reloading(reloader: reloader, adopted: adopted)
    }

    /// SIGHUP ends nothing.
    private func watchSignals(
        on loop: EventLoop, _ signals: Signals, _ reloading: Reloading?
    ) -> [SignalWatch] {
        let stops = [(SIGTERM, Ending.terminate), (SIGINT, Ending.interrupt)].map { number, ending in
            SignalWatch(number, loop: loop) { signals.ended.yield(ending) }
        }
        let hangUp = SignalWatch(SIGHUP, loop: loop) { [logger] in
            guard let reloader = reloading?.reloader else {
                return logger.notice("signal ignored: there is no settings file to read again", [.signal: "SIGHUP"])
            }
            reloader.loop.execute { reloader.value.reload(cause: "SIGHUP") }
        }
        return stops + [hangUp]
    }
}

/// Waits for two events of different threads, in either order: the node listens, and clients are admitted.
final class NodeOpening: Sendable {
    private struct State {
        var addresses: [SocketAddress]?
        var isReady = false
    }

    private let state = Mutex(State())
    private let opened: @Sendable ([SocketAddress]) -> Void

    /// - Parameter opened: called once, with the addresses that are listened on.
    init(_ opened: @escaping @Sendable ([SocketAddress]) -> Void) { self.opened = opened }

    /// To be called once.
    func listen(on addresses: [SocketAddress]) {
        let isReady = state.withLock { state in
            state.addresses = addresses
            return state.isReady
        }
        if isReady { opened(addresses) }
    }

    /// To be called once.
    func becomeReady() {
        let addresses = state.withLock { state in
            state.isReady = true
            return state.addresses
        }
        if let addresses { opened(addresses) }
    }
}
