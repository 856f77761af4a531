import Foundation
import TestHarness

/// `Tests/Harness/Python/https_server.py`, as long as this object lives.
final class TestServer: Sendable {
    let port: Int
    private let process: Process
    private let input: Pipe

    init(_ certificate: TestCertificate? = nil) throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["python3", tests.appending(path: "Harness/Python/https_server.py").path]
            + (certificate.map { [$0.file, $0.key] } ?? [])
        let output = Pipe()
        input = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            fatalError("the server said '\(line)', not its port")
        }
        self.port = port
    }

    deinit { process.terminate() }
}

/// A certificate that vouches for itself.
final class TestCertificate: Sendable {
    /// For 127.0.0.1 and localhost.
    static let local = TestCertificate("DNS:localhost,IP:127.0.0.1")
    /// For another name.
    static let elsewhere = TestCertificate("DNS:elsewhere.example")

    private let folder = TemporaryFolder()
    var file: String { folder.path("certificate.pem") }
    var key: String { folder.path("key.pem") }
    /// What the file holds.
    var bytes: [UInt8] {
        guard let content = try? Data(contentsOf: URL(filePath: file)) else { fatalError("no file \(file)") }
        return Array(content)
    }

    private init(_ names: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=test", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-keyout", key, "-out", file, "-addext", "subjectAltName=\(names)",
        ]
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            fatalError("openssl cannot be run: \(error)")
        }
        process.waitUntilExit()
        precondition(process.terminationStatus == 0, "openssl made no certificate")
        atexit { for certificate in [TestCertificate.local, .elsewhere] { certificate.folder.remove() } }
    }
}
