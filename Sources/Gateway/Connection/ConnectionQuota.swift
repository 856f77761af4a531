import Balancer
import LiveUpdates
import Synchronization

/// The limits on clients, for all loops together: the open connections, and the handshakes of the running second.
///
/// Used when a connection comes and when it goes, never for a message; each call holds the lock for two or three look-ups. An
/// admitted connection owns a ``ConnectionPermit``, its permit, and returns it once.
final class ConnectionQuota: Sendable {
    private struct State {
        var counts = QuotaCounts()
        var handshakes = HandshakeRate()
        var limits: QuotaLimits
    }

    private let state: Mutex<State>
    /// What accounts ask for, and what they are refused.
    let rates = AccountRates()

    init(_ limits: QuotaLimits) { state = Mutex(State(limits: limits)) }

    /// The limits for newcomers from now on. No admitted connection has to leave.
    func change(to limits: QuotaLimits) { state.withLock { $0.limits = limits } }

    /// Counts a connection from this address, nil for one that does not count, until it has its first answer.
    func arrive(_ address: AddressKey?) throws(ConnectionLimit) -> ConnectionPermit {
        if let limit = state.withLock({ $0.counts.arrive(address, $0.limits) }) { throw limit }
        return ConnectionPermit(address: address)
    }

    /// Uses one of the node's handshakes of this second. `now` is monotonic, in milliseconds.
    func takeHandshake(now: UInt64) -> ConnectionLimit? {
        state.withLock { $0.handshakes.take($0.limits, now: now) }
    }

    /// Lets a stream or a wait in. A connection that has arrived, and was not answered yet, continues with the permit that it
    /// has; it keeps the permit if it is refused.
    func enter(
        _ account: Account, subject: String?, address: AddressKey?, _ permit: inout ConnectionPermit?
    ) -> ConnectionLimit? {
        let subject = SubjectKey(account, subject)
        var arrived: AddressKey?
        if let held = permit.take() { arrived = held.end().address }
        let limit = state.withLock { $0.counts.enter(account, subject, address, arrived: arrived, $0.limits) }
        permit = limit == nil ? ConnectionPermit(subject, address) : ConnectionPermit(address: arrived)
        return limit
    }

    /// A stream goes on as another subject of its account, or as none: it is counted there from now on.
    ///
    /// - Returns: the limit that prevents it; then the stream stays counted under the old subject.
    func move(_ permit: inout ConnectionPermit?, of account: Account, to subject: String?) -> ConnectionLimit? {
        guard let held = permit.take() else { return nil }
        let (hasEntered, before, address) = held.end()
        precondition(hasEntered, "a stream whose permit counts for no account")
        let after = SubjectKey(account, subject)
        let limit = state.withLock { $0.counts.move(from: before, to: after, $0.limits) }
        permit = ConnectionPermit(limit == nil ? after : before, address)
        return limit
    }

    /// Returns a permit. A permit that counts for an account is returned with that account.
    func leave(_ permit: consuming ConnectionPermit, of account: Account?) {
        let (hasEntered, subject, address) = permit.end()
        state.withLock { state in
            guard hasEntered else { return state.counts.leave(address) }
            guard let account else { preconditionFailure("a stream or a wait is counted for its account") }
            state.counts.leave(account, subject, address)
        }
    }

    /// Counts a connection that is kept alive, until ``endRest(_:)``. False: its user has as many of them as it may.
    func rest(_ subject: SubjectKey) -> Bool { state.withLock { $0.counts.rest(subject, $0.limits) } }

    func endRest(_ subject: SubjectKey) { state.withLock { $0.counts.endRest(subject) } }

    // MARK: - For reports

    /// Streams and waits of the node.
    var total: Int { state.withLock { $0.counts.total } }

    /// Streams and waits by account; accounts without any are left out.
    var accounts: [Account: Int] { state.withLock { $0.counts.accounts } }

    /// Streams and waits of each of these accounts.
    func connections(of accounts: [Account]) -> [Int] {
        state.withLock { state in accounts.map { state.counts.accounts[$0] ?? 0 } }
    }

    /// Whether all counts are empty.
    var isEmpty: Bool {
        state.withLock { state in
            state.counts.total == 0 && state.counts.accounts.isEmpty && state.counts.subjects.isEmpty
                && state.counts.addresses.isEmpty && state.counts.idle.isEmpty
        }
    }
}

/// What is counted for a connection, returned once, to ``ConnectionQuota/leave(_:of:)``: its address until the first answer. For a stream
/// or a wait: its account, which the stream knows, its subject and its address.
struct ConnectionPermit: ~Copyable {
    // Words without a flag each: every open connection has a permit.
    private let subject: UInt64
    private let address: UInt64
    private let hasSubject: Bool
    private let hasAddress: Bool
    private let hasEntered: Bool

    /// Of a connection that was not answered yet.
    fileprivate init(address: AddressKey?) {
        subject = 0
        self.address = address?.code ?? 0
        hasSubject = false
        hasAddress = address != nil
        hasEntered = false
    }

    /// Of a stream or a wait.
    fileprivate init(_ subject: SubjectKey?, _ address: AddressKey?) {
        self.subject = subject?.code ?? 0
        self.address = address?.code ?? 0
        hasSubject = subject != nil
        hasAddress = address != nil
        hasEntered = true
    }

    fileprivate consuming func end() -> (hasEntered: Bool, subject: SubjectKey?, address: AddressKey?) {
        let counted = (
            hasEntered: hasEntered, subject: hasSubject ? SubjectKey(code: subject) : nil,
            address: hasAddress ? AddressKey(code: address) : nil
        )
        discard self
        return counted
    }

    deinit { assertionFailure("a permit was dropped, and stays counted") }
}
