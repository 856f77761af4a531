import Glibc
import Synchronization
import TestHarness

/// Keys and certificates for tests, made once per run by the `openssl` command and removed at its end, so that nothing
/// in the repository ever expires.
struct Authority: Sendable {
    /// Shared, because a key for each test would take longer than the tests.
    static let shared = Authority()

    private let folder = TemporaryFolder()
    var directory: String { folder.path }
    /// Self-signed, with `localhost`, `gate.example`, `*.wild.example`, 127.0.0.1 and ::1 below it.
    var root: String { path("root.pem") }
    /// ECDSA, through an intermediate authority: leaf and intermediate.
    var chain: String { path("ecdsa.chain") }
    var key: String { path("ecdsa.key") }
    var rsaChain: String { path("rsa.pem") }
    var rsaKey: String { path("rsa.key") }
    /// Was valid until yesterday.
    var expired: String { path("expired.pem") }
    var expiredKey: String { path("expired.key") }
    /// RSA with 1,024 bits.
    var weak: String { path("weak.pem") }
    var weakKey: String { path("weak.key") }
    /// `key` under the passphrase `open sesame`, in the two forms that PEM knows.
    var encryptedKey: String { path("encrypted.key") }
    var encryptedTraditionalKey: String { path("traditional.key") }

    func path(_ name: String) -> String { folder.path(name) }

    /// A path that nothing stands at and no other test uses.
    func freshPath() -> String { path("scratch-\(Authority.scratches.add(1, ordering: .relaxed).newValue)") }

    private static let scratches = Atomic<Int>(0)

    private static let names =
        "subjectAltName=DNS:localhost,DNS:gate.example,DNS:*.wild.example,IP:127.0.0.1,IP:::1"

    private init() {
        atexit { Authority.shared.folder.remove() }
        let ca = "basicConstraints=critical,CA:TRUE"
        let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl(
            ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=Root", "-keyout", "root.key", "-out", "root.pem"]
                + ec)
        request("middle", ec)
        sign("middle", by: "root", extensions: ca)
        request("ecdsa", ec)
        sign("ecdsa", by: "middle", extensions: Authority.names)
        let chain = Command.read(path("ecdsa.pem")) + Command.read(path("middle.pem"))
        Command.write(String(decoding: chain, as: UTF8.self), to: path("ecdsa.chain"))
        request("rsa", ["-newkey", "rsa:2048"])
        sign("rsa", by: "root", extensions: Authority.names)
        request("expired", ec)
        sign("expired", by: "root", extensions: Authority.names, days: "-1")
        request("weak", ["-newkey", "rsa:1024"])
        sign("weak", by: "root", extensions: Authority.names)
        let secret = ["-passout", "pass:open sesame"]
        openssl(["pkcs8", "-topk8", "-in", "ecdsa.key", "-out", "encrypted.key"] + secret)
        openssl(["ec", "-aes128", "-in", "ecdsa.key", "-out", "traditional.key"] + secret)
    }

    private func request(_ name: String, _ key: [String]) {
        openssl(
            ["req", "-new", "-nodes", "-subj", "/CN=\(name)", "-keyout", "\(name).key", "-out", "\(name).csr"] + key)
    }

    private func sign(_ name: String, by issuer: String, extensions: String, days: String = "2") {
        Command.write(extensions, to: path("\(name).ext"))
        openssl([
            "x509", "-req", "-in", "\(name).csr", "-CA", "\(issuer).pem", "-CAkey", "\(issuer).key",
            "-CAcreateserial", "-days", days, "-extfile", "\(name).ext", "-out", "\(name).pem",
        ])
    }

    private func openssl(_ arguments: [String]) {
        let result = Command.run(["openssl"] + arguments, in: directory)
        precondition(result.status == 0, "openssl \(arguments) failed: \(result.output)")
    }
}
