import Reactor
import Synchronization

/// The address that a gateway got, on its way from the start to the moment when it is ready.
final class AddressBox: Sendable {
    private let address = Mutex(SocketAddress.loopback(port: 0))

    func set(_ address: SocketAddress) { self.address.withLock { $0 = address } }
    func get() -> SocketAddress { address.withLock { $0 } }
}
