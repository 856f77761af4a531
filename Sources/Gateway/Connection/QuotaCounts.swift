import Balancer
import LiveUpdates

/// How many connections there may be, by the settings; 0 is no limit.
struct QuotaLimits: Equatable, Sendable {
    /// Of the node.
    var maximumConnections = 0
    var maximumConnectionsPerAccount = 0
    var maximumConnectionsPerSubject = 0
    var maximumConnectionsPerAddress = 0
    var maximumHandshakesPerSecond = 0
}

/// A limit that a client has reached, by its key in the section `limits`, with its value.
struct ConnectionLimit: Error, Equatable, Sendable, CustomStringConvertible {
    enum Name: String, CaseIterable {
        case node = "max_connections"
        case account = "max_connections_per_account"
        case subject = "max_connections_per_subject"
        case address = "max_connections_per_address"
        case handshakes = "max_handshakes_per_second"
    }

    let name: Name
    let value: Int

    var description: String { "\(name.rawValue) \(value)" }
}

/// Who counts together by address: an IPv4 address, or the /64 of an IPv6 address, which is what one household or one
/// machine is given. Unix sockets have none.
struct AddressKey: Hashable, Sendable {
    let code: UInt64

    init(code: UInt64) { self.code = code }

    init?(_ client: ClientAddress) {
        switch client {
        // ff00::/8 is multicast (RFC 4291 §2.7): no client has such an address, so these codes stand for IPv4.
        case .ipv4(let address): code = 0xFFFF_FFFF_0000_0000 | UInt64(address)
        case .ipv6(let high, _): code = high
        case .unix: return nil
        }
    }
}

/// Who counts together as one subject: 64 bits of a hash with a key of this process. A table of names would cost each
/// connection more than all else that is counted; that two of a million subjects share a count happens once in 37 million
/// processes.
struct SubjectKey: Hashable, Sendable {
    let code: UInt64

    init(code: UInt64) { self.code = code }

    init?(_ account: Account, _ subject: String?) {
        guard let subject else { return nil }
        var hasher = Hasher()
        hasher.combine(account)
        // Byte by byte, as accounts are compared: Unicode's equal texts are different subjects.
        hasher.combine(Account(subject))
        code = UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// The connections of a node by account, by subject and by address.
///
/// Each table has a key for what is there, and none with 0: it is bounded by the connections of the node.
struct QuotaCounts {
    /// WebSockets, event streams and polls that may wait.
    private(set) var total = 0
    private(set) var accounts: [Account: Int] = [:]
    private(set) var subjects: [SubjectKey: UInt32] = [:]
    /// These, and connections that were not answered yet.
    private(set) var addresses: [AddressKey: UInt32] = [:]
    /// Connections that are kept alive between two requests, by the subject of the last one.
    private(set) var idle: [SubjectKey: UInt32] = [:]

    /// Counts a connection from its address until its first answer.
    mutating func arrive(_ address: AddressKey?, _ limits: QuotaLimits) -> ConnectionLimit? {
        if let limit = limit(address, limits) { return limit }
        if let address { addresses[address, default: 0] += 1 }
        return nil
    }

    /// The address of a connection that was answered, or has gone.
    mutating func leave(_ address: AddressKey?) {
        if let address { Self.remove(address, &addresses) }
    }

    /// Counts a stream or a wait. The client's own limits are checked first: another node would refuse it too.
    ///
    /// - Parameter arrived: the address that is already counted for its connection; this call continues with it. Behind a
    ///   balancer it may differ from the request's address.
    mutating func enter(
        _ account: Account, _ subject: SubjectKey?, _ address: AddressKey?, arrived: AddressKey?, _ limits: QuotaLimits
    ) -> ConnectionLimit? {
        if let subject, let limit = limit(subject, limits) { return limit }
        let perAccount = limits.maximumConnectionsPerAccount
        if perAccount > 0, accounts[account] ?? 0 >= perAccount {
            return ConnectionLimit(name: .account, value: perAccount)
        }
        if arrived != address, let limit = limit(address, limits) { return limit }
        if limits.maximumConnections > 0, total >= limits.maximumConnections {
            return ConnectionLimit(name: .node, value: limits.maximumConnections)
        }
        total += 1
        accounts[account, default: 0] += 1
        if let subject { subjects[subject, default: 0] += 1 }
        if arrived != address {
            if let address { addresses[address, default: 0] += 1 }
            leave(arrived)
        }
        return nil
    }

    /// A stream goes on as another subject, nil: as none. Counts nothing where that one is at its limit.
    mutating func move(from before: SubjectKey?, to after: SubjectKey?, _ limits: QuotaLimits) -> ConnectionLimit? {
        guard before != after else { return nil }
        if let after {
            if let limit = limit(after, limits) { return limit }
            subjects[after, default: 0] += 1
        }
        if let before { Self.remove(before, &subjects) }
        return nil
    }

    /// A stream or a wait has ended.
    mutating func leave(_ account: Account, _ subject: SubjectKey?, _ address: AddressKey?) {
        total -= 1
        Self.remove(account, &accounts)
        if let subject { Self.remove(subject, &subjects) }
        leave(address)
    }

    /// Counts an idle connection, apart from streams and waits: it costs a descriptor as they do. False where so many of the
    /// subject are idle already as it may have of those.
    mutating func rest(_ subject: SubjectKey, _ limits: QuotaLimits) -> Bool {
        let value = limits.maximumConnectionsPerSubject
        guard value == 0 || Int(idle[subject] ?? 0) < value else { return false }
        idle[subject, default: 0] += 1
        return true
    }

    /// The next request has begun, or an idle connection has gone.
    mutating func endRest(_ subject: SubjectKey) { Self.remove(subject, &idle) }

    private func limit(_ subject: SubjectKey, _ limits: QuotaLimits) -> ConnectionLimit? {
        let value = limits.maximumConnectionsPerSubject
        return value > 0 && Int(subjects[subject] ?? 0) >= value ? ConnectionLimit(name: .subject, value: value) : nil
    }

    private func limit(_ address: AddressKey?, _ limits: QuotaLimits) -> ConnectionLimit? {
        let value = limits.maximumConnectionsPerAddress
        guard value > 0, let address, Int(addresses[address] ?? 0) >= value else { return nil }
        return ConnectionLimit(name: .address, value: value)
    }

    private static func remove<Key, Count: BinaryInteger>(_ key: Key, _ counts: inout [Key: Count]) {
        guard let index = counts.index(forKey: key) else { preconditionFailure("a permit is released twice") }
        if counts.values[index] > 1 { counts.values[index] -= 1 } else { counts.remove(at: index) }
    }
}

/// The handshakes of a node: a bucket that is filled at the rate of the limit and holds a second's worth.
struct HandshakeRate {
    /// When the bucket is full again, monotonic, in ns: one number instead of a level and its time.
    private var fullAt: UInt64 = 0

    /// Removes one; nil if that worked, else the limit, and nothing is removed. `now` is monotonic, in ms, and may lag behind the
    /// time that another loop has passed.
    mutating func take(_ limits: QuotaLimits, now milliseconds: UInt64) -> ConnectionLimit? {
        let limit = limits.maximumHandshakesPerSecond
        guard limit > 0 else { return nil }
        let second: UInt64 = 1_000_000_000
        let now = milliseconds * 1_000_000
        let next = max(fullAt, now) + second / UInt64(limit)
        guard next <= now + second else { return ConnectionLimit(name: .handshakes, value: limit) }
        fullAt = next
        return nil
    }
}
