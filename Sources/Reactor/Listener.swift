import CLinux
import Glibc

/// A failure to accept; reported at most once in ``Listener/troubleIntervalMilliseconds``.
package struct AcceptTrouble: Equatable, Sendable {
    package let address: SocketAddress
    /// `EMFILE`: this process has no descriptor left (`ulimit -n`); `ENFILE`: the machine; `ENOBUFS`, `ENOMEM`: the
    /// kernel is out of memory.
    package let failure: SystemFailure
    /// Connections accepted with the spare descriptor and refused, since the last report.
    package let refusedConnections: Int
}

/// Accepts connections on a loop. Confined to it.
package final class Listener: PollTarget {
    /// The accepts of one tick; the loop's time slice ends them too. Each costs 5 to 10 µs, and as much again for the objects
    /// of a connection: well below a millisecond in all. Then the connected clients have their turn. A TLS session needs
    /// longer.
    package static let maximumAcceptsPerTick = 32
    /// How long accepting pauses when even the spare descriptor does not help. Meanwhile the kernel keeps connections.
    static let pauseMilliseconds: UInt64 = 100
    package static let troubleIntervalMilliseconds: UInt64 = 10_000

    /// A connection and the address of its peer. Non-blocking, closed on exec, TCP_NODELAY set.
    package typealias Accept = (consuming FileDescriptor, SocketAddress) -> Void

    package let address: SocketAddress
    /// For Unix sockets: is released, and removes the file, when the listener closes.
    private var file: UnixSocketFile?
    private let handout: DescriptorHandout?
    private let seat: Int
    private let accept: Accept
    private let overflow: Accept
    private let trouble: (AcceptTrouble) -> Void
    /// A connection whose descriptor has a greater number is refused.
    private let highestDescriptor: Int32
    /// This listener is a member while it accepts.
    private let spares: SpareDescriptors
    private var holdsSpare = false
    private var box: Mailbox<DescriptorHandout.Parcel>?
    private var refused = 0
    private var mayReportAt: UInt64 = 0

    /// Begins to accept. Only on the loop.
    ///
    /// - Parameters:
    ///   - highestDescriptor: the greatest number that a connection's descriptor may have. The kernel gives the smallest free
    ///     number: a greater one means that only the descriptors are left that the process reserves for itself.
    ///   - accept: gets each connection.
    ///   - overflow: gets a connection for which there is only a spare or a reserved descriptor. It must send once and close
    ///     before it returns: the spare is needed again. By default it is only closed.
    ///   - trouble: called, rarely, while connections are being refused.
    /// - Throws: ``ReactorError/system(_:)`` if the poller refuses, ``ReactorError/cancelled`` if the loop has stopped.
    package init(
        _ socket: ListeningSocket, loop: EventLoop, highestDescriptor: Int32 = .max, accept: @escaping Accept,
        overflow: @escaping Accept = { _, _ in }, trouble: @escaping (AcceptTrouble) -> Void = { _ in }
    ) throws(ReactorError) {
        loop.assertOnLoop()
        address = socket.address
        self.highestDescriptor = highestDescriptor
        self.accept = accept
        self.overflow = overflow
        self.trouble = trouble
        handout = socket.handout
        seat = socket.seat
        spares = socket.spares
        super.init(loop: loop)
        if loop.isStopped { throw .cancelled }
        if let descriptor = socket.takeDescriptor() {
            file = socket.file
            if let failure = loop.register(self, descriptor, .readable) { throw .system(failure) }
            spares.join(loop.syscalls)
            holdsSpare = true
        } else if let handout, seat > 0 {
            // Until it closes, the listener and its mailbox hold each other: a connection sent here is accepted or closed, never
            // forgotten.
            let box = Mailbox<DescriptorHandout.Parcel>(loop: loop) { parcels in
                for parcel in parcels { self.accept(FileDescriptor(owning: parcel.raw), parcel.peer) }
            }
            self.box = box
            handout.join(seat, box)
        }
    }

    /// Listens on one address with one loop. Combines ``ListeningSocket/open(_:count:settings:syscalls:)`` and
    /// ``init(_:loop:highestDescriptor:accept:overflow:trouble:)``. Only on the loop.
    package convenience init(
        address: SocketAddress, loop: EventLoop, settings: ListenerSettings = ListenerSettings(),
        highestDescriptor: Int32 = .max,
        accept: @escaping Accept, overflow: @escaping Accept = { _, _ in },
        trouble: @escaping (AcceptTrouble) -> Void = { _ in }
    ) throws(ReactorError) {
        let sockets = try ListeningSocket.open(address, settings: settings, syscalls: loop.syscalls)
        try self.init(
            sockets[0], loop: loop, highestDescriptor: highestDescriptor, accept: accept, overflow: overflow,
            trouble: trouble)
    }

    override func ready(_ events: PollEvents) {
        var accepts = 0
        _ = loop.runSlice {
            accepts += 1
            return acceptOne() && accepts < Self.maximumAcceptsPerTick
        }
    }

    /// Accepts one connection. Returns whether there may be another one.
    private func acceptOne() -> Bool {
        var peer = linux_address()
        let accepted = loop.syscalls.accept(raw, peer: &peer)
        if accepted >= 0 {
            let isRefused = isReclaimed(accepted, peer) || isKept(accepted, peer)
            if !isRefused { pass(FileDescriptor(owning: accepted), SocketAddress(peer)) }
        } else if accepted == -EAGAIN || !carryOn(after: SystemFailure(.accept, -accepted)) {
            return false
        }
        // The callback may have closed the listener.
        return isRegistered
    }

    private func pass(_ descriptor: consuming FileDescriptor, _ peer: SocketAddress) {
        guard let box = handout?.nextBox() else { return accept(descriptor, peer) }
        let raw = descriptor.release()
        if !box.deliver(DescriptorHandout.Parcel(raw: raw, peer: peer)) { accept(FileDescriptor(owning: raw), peer) }
    }

    // MARK: Trouble

    /// Handles a failed accept. Returns false when accepting must pause.
    private func carryOn(after failure: SystemFailure) -> Bool {
        switch failure.code {
        case EMFILE, ENFILE:
            if refuseOne(failure) { return true }
        case ENOBUFS, ENOMEM:
            report(failure)
        case ECONNABORTED, EPROTO, EPERM, ETIMEDOUT, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENOPROTOOPT,
            EOPNOTSUPP, ENONET:
            // accept(2): an error that broke a connection before it was accepted is reported here. The next connection may be
            // fine. The limit on accepts counts these failures too.
            return true
        default:
            report(failure)
        }
        pause()
        return false
    }

    /// Uses a spare descriptor for one connection, which would otherwise stay in the queue and keep the listener ready for
    /// ever. False if there is none.
    private func refuseOne(_ failure: SystemFailure) -> Bool {
        let accepted = spares.lend(loop.syscalls) { () -> Int32 in
            var peer = linux_address()
            let accepted = loop.syscalls.accept(raw, peer: &peer)
            if accepted >= 0 { refuse(accepted, peer) }
            return accepted
        }
        report(failure)
        guard let accepted else { return false }
        return accepted != -EMFILE && accepted != -ENFILE
    }

    private func refuse(_ accepted: Int32, _ peer: linux_address) {
        refused += 1
        overflow(FileDescriptor(owning: accepted), SocketAddress(peer))
    }

    /// Whether an accepted connection was refused because its descriptor is one that another loop had lent.
    private func isReclaimed(_ accepted: Int32, _ peer: linux_address) -> Bool {
        let isRefused = spares.reclaim(loop.syscalls) { refuse(accepted, peer) }
        if isRefused { report(SystemFailure(.accept, EMFILE)) }
        return isRefused
    }

    /// Whether an accepted connection was refused because its descriptor is a reserved one.
    private func isKept(_ accepted: Int32, _ peer: linux_address) -> Bool {
        guard accepted > highestDescriptor else { return false }
        refuse(accepted, peer)
        report(SystemFailure(.accept, EMFILE))
        return true
    }

    private func report(_ failure: SystemFailure) {
        guard loop.now >= mayReportAt else { return }
        mayReportAt = loop.now + Self.troubleIntervalMilliseconds
        let count = refused
        refused = 0
        trouble(AcceptTrouble(address: address, failure: failure, refusedConnections: count))
    }

    /// Leaves connections to the kernel for a while. Otherwise the poller would report them again at once, and they could
    /// not be accepted.
    private func pause() {
        guard isRegistered else { return }
        _ = loop.setInterest(self, [])
        loop.schedule(afterMilliseconds: Self.pauseMilliseconds) { self.resume() }
    }

    private func resume() {
        guard isRegistered else { return }
        spares.refill(loop.syscalls)
        if let failure = loop.setInterest(self, .readable) {
            report(failure)
            loop.schedule(afterMilliseconds: Self.pauseMilliseconds) { self.resume() }
        }
    }

    // MARK: The end

    /// Accepts the connections that are in the queue now, in slices, and closes; then calls `done`. It may also accept new ones,
    /// but not more than the queue holds, so that no client can delay the end.
    package func closeAfterQueue(_ done: @escaping () -> Void) {
        loop.assertOnLoop()
        acceptRest(ListenerSettings.queueLimit, done)
    }

    private func acceptRest(_ most: Int, _ done: @escaping () -> Void) {
        var left = most
        let isMore = loop.runSlice {
            guard isRegistered, left > 0, acceptOne() else { return false }
            left -= 1
            return true
        }
        if isMore { return loop.executeNextTick { self.acceptRest(left, done) } }
        // The connections that another loop has accepted for this one.
        handout?.leave(seat)
        for parcel in box.take()?.close() ?? [] { accept(FileDescriptor(owning: parcel.raw), parcel.peer) }
        close()
        done()
    }

    /// Stops accepting. The connections that the kernel keeps ready are reset. The file of a Unix socket is removed.
    package func close() {
        loop.assertOnLoop()
        handout?.leave(seat)
        for parcel in box.take()?.close() ?? [] { _ = FileDescriptor(owning: parcel.raw) }
        if holdsSpare { spares.leave() }
        holdsSpare = false
        file = nil
        loop.unregister(self)
    }

    override func loopStops() { close() }
}
