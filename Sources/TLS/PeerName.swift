import COpenSSL
import Glibc

/// The name of a server, as its certificate must say it.
struct PeerName {
    private let name: String
    private let isAddress: Bool

    init(_ name: String) {
        var text = name
        if text.hasPrefix("[") && text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        // A final dot makes a DNS name absolute and is no part of it in certificates (RFC 6066 §3 for SNI).
        if text.hasSuffix(".") { text.removeLast() }
        self.name = text
        var room = in6_addr()
        isAddress = unsafe inet_pton(AF_INET, text, &room) == 1 || inet_pton(AF_INET6, text, &room) == 1
    }

    /// Sets what is verified, and for DNS names what is asked for (RFC 6066 §3: no addresses in SNI).
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
