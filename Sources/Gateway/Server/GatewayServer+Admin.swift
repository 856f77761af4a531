import Balancer
import Reactor
import Synchronization

/// The administration is on a loop of its own, so that it answers whatever the clients' loops do. A scrape costs clients no
/// time, except for what their loop itself is asked.
extension GatewayServer {
    /// Makes the administration, and listens. `connections` and ingest exist by now.
    func listenForAdministration(on loop: EventLoop) async throws(GatewayError) {
        guard parts.servesAdmin, let requests else { return }
        let socket = try open(parts.settings.admin, count: 1)[0]
        let (connectionLoops, readiness, logger) = (connectionLoops, readiness, logger.named("admin"))
        let quota = quota
        let rules = parts.administrationRules
        let control = NodeControl(
            drain: { [weak self] window in await self?.drain(window: window) },
            undrain: { [weak self] in await self?.undrain() ?? false })
        let counted = { @Sendable [reloads, lookupCounters, revocations, archive] in
            var counts = OtherCounts(reloads.counts, lookupCounters, revocations.counts)
            counts.archive = archive?.counters.counts(now: EventLoop.microseconds / 1000)
            return counts
        }
        let administration = await loop.perform {
            let administration = Administration(
                loop: loop, connectionLoops: connectionLoops, requests: requests, quota: quota, rules: rules,
                readiness: readiness, control: control, others: counted, logger: logger)
            administration.begin()
            return administration
        }
        self.administration = administration
        let log = ConnectionLog(logger: logger)
        adminListener = try await listener(on: loop) { () throws(ReactorError) in
            let connections = AdminConnections(administration, loop: loop)
            return try Listener(
                socket, loop: loop, accept: { connections.accept($0, peer: ClientAddress($1)) },
                trouble: { log.cannotAccept($0, now: loop.now) })
        }
        adminAddress = socket.address
    }
}

extension GatewayServer.Parts {
    /// Which clients may ask the administration what, and what else it has to know.
    var administrationRules: Administration.Rules {
        Administration.Rules(
            gate: AdminGate(token: adminToken, hosts: settings.adminHosts),
            requestMilliseconds: settings.limits.handshakeTimeout.milliseconds,
            certificateEnd: tls?.certificate?.notAfter)
    }
}

extension OtherCounts {
    fileprivate init(
        _ reloads: ReloadRecord.Counts, _ lookups: TokenLookupCounters, _ control: NodeRevocations.Counts
    ) {
        reloadsOK = Int(reloads.succeeded)
        reloadsFailed = Int(reloads.failed)
        lastReloadFailed = reloads.problem != nil
        keyFetchesOK = lookups.keyFetchesOK.load(ordering: .relaxed)
        keyFetchesFailed = lookups.keyFetchesFailed.load(ordering: .relaxed)
        introspectionsActive = lookups.introspectionsActive.load(ordering: .relaxed)
        introspectionsInactive = lookups.introspectionsInactive.load(ordering: .relaxed)
        introspectionsFailed = lookups.introspectionsFailed.load(ordering: .relaxed)
        revocations = control.byKind
        controlRecordsRejected = control.rejected
        revocationsKept = control.kept
        allTokensRevoked = control.allTokens
    }
}
