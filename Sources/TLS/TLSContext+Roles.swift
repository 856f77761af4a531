import COpenSSL
import Glibc

/// How a client verifies its peer, and which certificate it presents.
package struct TLSClientSettings: Sendable {
    /// Path of a PEM file with the authorities to trust instead of the system's.
    package var authorities: String?
    /// False accepts any certificate, whatever name and age it has.
    package var verifies = true
    /// Paths of our own certificate (chain) and key, for servers that ask for one. The key may be in the first file.
    package var certificate: String?
    package var key: String?
    /// Decrypts the key if it is encrypted.
    package var passphrase: String?

    package init(
        authorities: String? = nil, verifies: Bool = true, certificate: String? = nil, key: String? = nil,
        passphrase: String? = nil
    ) {
        self.authorities = authorities
        self.verifies = verifies
        self.certificate = certificate
        self.key = key
        self.passphrase = passphrase
    }
}

extension TLSContext {
    /// One ticket a handshake: a client resumes one connection at a time, uses each ticket once (RFC 8446 §C.4), and gets the
    /// next when it resumes. OpenSSL's default of two costs another 250 bytes in each handshake.
    private static let tickets = 1

    func setServerOptions(_ tickets: TicketKeys) throws(TLSError) {
        unsafe SSL_CTX_set_num_tickets(pointer, TLSContext.tickets)
        unsafe SSL_CTX_set_timeout(pointer, TicketKeys.lifetimeSeconds)
        unsafe SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, nil)
        try unsafe tickets.seal(ticketsOf: pointer)
    }

    func setClientOptions(_ settings: TLSClientSettings) throws(TLSError) {
        ErrorQueue.clear()
        unsafe SSL_CTX_set_verify(pointer, settings.verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        let offer: [UInt8] = [8] + Array("http/1.1".utf8)
        // Zero is success here, unlike in the rest of the API.
        guard unsafe SSL_CTX_set_alpn_protos(pointer, offer, UInt32(offer.count)) == 0 else {
            throw .openSSL(call: "SSL_CTX_set_alpn_protos", cause: ErrorQueue.drain().text)
        }
        guard settings.verifies else { return }
        guard let path = settings.authorities else {
            guard unsafe SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw .openSSL(call: "SSL_CTX_set_default_verify_paths", cause: ErrorQueue.drain().text)
            }
            return
        }
        // Our own reader reads it first: its errors distinguish a missing file from an empty one.
        guard try PEMFile(path: path).nextCertificate() != nil else { throw .noCertificate(path: path) }
        guard unsafe SSL_CTX_load_verify_file(pointer, path) == 1 else {
            throw .malformed(path: path, cause: ErrorQueue.drain().text)
        }
    }
}

/// Chooses `http/1.1` from a client's ALPN list, or ends the handshake.
///
/// A client that sends no list is served. One that offers only others (`h2`) cannot talk to us: RFC 7301 §3.2 requires
/// the alert `no_application_protocol`, and nginx and Go's server send it. Some servers continue without a choice. That
/// allows attacks across protocols (ALPACA), and the client detects the problem later, with a worse error.
private func selectProtocol(
    _: OpaquePointer?, chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    chosenLength: UnsafeMutablePointer<UInt8>?, offered: UnsafePointer<UInt8>?, offeredLength: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered = unsafe offered, let chosen = unsafe chosen, let chosenLength = unsafe chosenLength else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredLength))
    var position = 0
    while position < list.count {
        let length = unsafe Int(list[position])
        guard position + 1 + length <= list.count else { break }
        let name = unsafe list[(position + 1)..<(position + 1 + length)]
        if unsafe name.elementsEqual("http/1.1".utf8) {
            unsafe chosen.pointee = offered + position + 1
            unsafe chosenLength.pointee = UInt8(length)
            return SSL_TLSEXT_ERR_OK
        }
        position += 1 + length
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// The name of a server, as its certificate must contain it.
struct PeerName {
    private let name: String
    private let isAddress: Bool

    init(_ name: String) {
        var text = name
        if text.hasPrefix("[") && text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        // A final dot makes a DNS name absolute. Certificates and SNI do not contain it (RFC 6066 §3 for SNI).
        if text.hasSuffix(".") { text.removeLast() }
        self.name = text
        var room = in6_addr()
        isAddress = unsafe inet_pton(AF_INET, text, &room) == 1 || inet_pton(AF_INET6, text, &room) == 1
    }

    /// Sets the name to verify, and for DNS names the name to send (RFC 6066 §3: no addresses in SNI).
    func apply(to ssl: OpaquePointer) -> Bool {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        if isAddress { return unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1 }
        // RFC 1035 §2.3.4: 253 characters. A NUL would end the C string before the name ends.
        guard !name.isEmpty, name.utf8.count <= 253, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return false
        }
        unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return unsafe SSL_set1_host(ssl, name) == 1 && livegate_set_server_name(ssl, name) == 1
    }
}
