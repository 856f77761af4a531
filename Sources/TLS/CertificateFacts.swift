import COpenSSL
import Glibc

/// What an operator is told about our own certificate.
package struct CertificateFacts: Equatable, Sendable {
    /// The common name of the subject, or an empty string.
    package let commonName: String
    /// Seconds since 1970, UTC; the certificate is valid from the first to the second, both included.
    package let notBefore: Int64
    package let notAfter: Int64

    /// - Parameter time: seconds since 1970, UTC.
    package func isExpired(at time: Int64) -> Bool { time > notAfter }

    /// - Parameter time: seconds since 1970, UTC.
    package func isNotYetValid(at time: Int64) -> Bool { time < notBefore }

    init(_ certificate: borrowing Certificate) {
        // X.520 bounds a common name to 64 characters; a longer one is cut, it is only shown.
        var name = [CChar](repeating: 0, count: 256)
        let length = unsafe name.withUnsafeMutableBufferPointer {
            unsafe livegate_copy_common_name(certificate.pointer, $0.baseAddress, Int32($0.count))
        }
        commonName = String(decoding: name.prefix(max(0, Int(length))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        notBefore = unsafe CertificateFacts.seconds(X509_get0_notBefore(certificate.pointer))
        notAfter = unsafe CertificateFacts.seconds(X509_get0_notAfter(certificate.pointer))
    }

    /// 0 for a time that cannot be read, so that such a certificate counts as expired.
    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(unsafe timegm(&parts))
    }
}
