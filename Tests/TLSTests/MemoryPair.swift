@testable import TLS

/// A server's and a client's session that talk through memory; every byte of ciphertext is kept.
final class MemoryPair {
    let server: TLSSession
    let client: TLSSession
    let serverExchange = TLSExchange()
    let clientExchange = TLSExchange()
    /// Everything that ever went each way.
    private(set) var toServer: [UInt8] = []
    private(set) var toClient: [UInt8] = []
    private(set) var serverReceived: [UInt8] = []
    private(set) var clientReceived: [UInt8] = []
    private var serverRead = 0
    private var clientRead = 0
    /// Ciphertext is given in pieces of at most so many bytes.
    var pieceBytes = Int.max

    init(
        server: TLSContext? = nil, client: TLSContext? = nil, name: String = "localhost"
    ) throws {
        let authority = Authority.shared
        let server = try server ?? TLSContext.server(certificate: authority.chain, key: authority.key)
        let client = try client ?? TLSContext.client(TLSClientSettings(authorities: authority.root))
        self.server = try TLSSession(server: server, exchange: serverExchange)
        self.client = try TLSSession(client: client, exchange: clientExchange, name: name)
    }

    /// Carries bytes to and fro until nobody has anything to say.
    func pump() {
        client.start()
        for _ in 0..<100 {
            collect()
            let before = serverRead + clientRead
            feed(server, toServer, &serverRead) { serverReceived += $0 }
            collect()
            feed(client, toClient, &clientRead) { clientReceived += $0 }
            collect()
            if serverRead + clientRead == before { return }
        }
        preconditionFailure("two sessions talk without end")
    }

    private func feed(_ session: TLSSession, _ wire: [UInt8], _ read: inout Int, _ received: ([UInt8]) -> Void) {
        while read < wire.count {
            let end = read + min(wire.count - read, pieceBytes)
            let piece = Array(wire[read..<end])
            read = end
            session.receive(piece.span) {
                received($0.array)
                return true
            }
            collect()
        }
    }

    private func collect() {
        serverExchange.takeOutput { toClient += $0.array }
        clientExchange.takeOutput { toServer += $0.array }
    }

    @discardableResult
    func serverSends(_ bytes: [UInt8]) -> Bool {
        defer { collect() }
        return server.send(bytes.span)
    }

    @discardableResult
    func clientSends(_ bytes: [UInt8]) -> Bool {
        defer { collect() }
        return client.send(bytes.span)
    }

    func clientUpdatesKeys() {
        client.updateKeys()
        collect()
    }

    func closeServer() {
        server.close()
        collect()
    }

    func closeClient() {
        client.close()
        collect()
    }
}

extension Span<UInt8> {
    var array: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices { bytes.append(self[index]) }
        return bytes
    }
}

extension TLSState {
    var reason: TLSReason? {
        if case .failed(let failure) = self { return failure.reason }
        return nil
    }
}
