/// What the first byte on a TLS port tells, before OpenSSL sees it.
///
/// A TLS connection begins with a record of type 22 (handshake); 20 to 23 are left to OpenSSL and its alerts. The rest
/// speaks something else, and is worth telling apart: an HTTP request comes from somebody who mistook the scheme.
enum FirstByte {
    static func refusal(_ byte: UInt8) -> TLSFailure? {
        switch byte {
        case 20...23: nil
        // Methods are upper-case words in practice (RFC 9110 §9.1).
        case UInt8(ascii: "A")...UInt8(ascii: "Z"):
            TLSFailure(.plainHTTP, "plain HTTP was spoken to a TLS port")
        // A record of SSL 2 begins with its length, the highest bit set.
        case 0x80...: TLSFailure(.sslv2Hello, "SSL 2 was spoken")
        default: TLSFailure(.notTLS, "the first byte, \(byte), begins no TLS record")
        }
    }
}
