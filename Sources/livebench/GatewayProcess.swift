import Foundation
import TLS

/// The gateway under test: `livegate serve` in a process of its own, so that its use of resources can be distinguished from that
/// of the load.
final class GatewayProcess {
    struct Usage {
        /// User and system time, kernel work for its sockets included, in µs.
        let cpuMicroseconds: Int64
        /// Its private resident memory, in bytes.
        let residentBytes: Int64
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let port: UInt16
    /// The port of the administration.
    let admin: UInt16
    private let program: String
    private var process = Process()
    private var guardian = Process()
    /// A line in it ends the guardian; end of file without a line means that this process has ended.
    private var lifeline = Pipe()
    private let folder: URL

    /// Starts it and waits until it admits clients.
    ///
    /// - Parameters:
    ///   - program: the path of `livegate`.
    ///   - load: decides whether clients are pinged and peers are cut as by default. Otherwise the times are long: hardly any
    ///     ping comes within a run, and a client that does not read, or one of thousands that connect at once, has enough time.
    private static let longTimes = ", ping_interval: 1h, pong_timeout: 1h, handshake_timeout: 1m"

    init(
        program: String, brokers: String, topic: String, loops: Int, tokens: [BenchToken], isSecure: Bool,
        load: Scenario.Load, beside: Beside? = nil
    ) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("livebench-\(getpid())-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        port = try Self.freePort()
        admin = try Self.freePort()
        self.program = program
        // The embedded broker delivers records with the answer to the next fetch. To fetch a hundred times a second costs nearly
        // a hundredth of a core, which is not the cost of pings of idle connections.
        var settings = """
            listen: [':\(port)']
            admin: 127.0.0.1:\(admin)
            loops: \(loops)
            kafka: {brokers: '\(brokers)', topics: [\(topic)], settings: {fetch.wait.max.ms: '\(load.isPinged ? 500 : 10)'}}
            events: {preset: rails}
            limits: {max_connections_per_subject: 0\(load.hasDefaultTimes ? "" : Self.longTimes)}
            log: {level: warning}

            """
        switch beside {
        case .archive: settings += "archive: {store: 'sqlite:\(folder.path)/archive.db'}\n"
        // No file can be made there, however often it is tried.
        case .failingArchive: settings += "archive: {store: 'sqlite:/proc/livebench/archive.db'}\n"
        case .scrape, nil: break
        }
        if tokens.isEmpty {
            settings += "auth: {anonymous: \(BenchToken.onlyAccount)}\n"
        } else {
            settings += "auth: {tokens: tokens.yaml}\n"
            let list = tokens.map { "- {sha256: \($0.sha256), account: \($0.account), subject: bench}\n" }.joined()
            try list.write(to: folder.appendingPathComponent("tokens.yaml"), atomically: true, encoding: .utf8)
        }
        if isSecure {
            try Self.makeCertificate(in: folder)
            try Data(Random.bytes(32)).write(to: folder.appendingPathComponent("tickets.key"))
            settings += "tls: {certificate: chain.pem, key: key.pem, ticket_secret_file: tickets.key}\n"
        }
        try settings.write(to: settingsFile, atomically: true, encoding: .utf8)
        try start()
    }

    private var settingsFile: URL { folder.appendingPathComponent("livegate.yaml") }

    /// Ends it as Control-C would, and starts it again with the same settings at the same port.
    func restart() throws {
        end()
        (process, guardian, lifeline) = (Process(), Process(), Pipe())
        try start()
    }

    private func start() throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["serve", "--config", settingsFile.path]
        // Otherwise only the superuser can read its memory use.
        process.environment = ProcessInfo.processInfo.environment.merging(["LIVEGATE_ALLOW_DUMPS": "true"]) { $1 }
        try process.run()
        try endWithThisProcess()
        try waitUntilReady(admin)
    }

    /// The gateway ends however this process ends: a shell reads from a pipe that only this process has, and ends the gateway if
    /// no line comes. The kernel's mechanism (PR_SET_PDEATHSIG) depends on the thread that made the child, and threads of a pool
    /// come and go.
    private func endWithThisProcess() throws {
        guardian.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Not ended by Control-C, which every process of the terminal gets.
        guardian.arguments = [
            "-c", "trap '' INT; read -r _ || { kill -KILL \(process.processIdentifier); rm -rf \"$0\"; }", folder.path,
        ]
        guardian.standardInput = lifeline
        try guardian.run()
        try lifeline.fileHandleForReading.close()
    }

    func stop() {
        end()
        try? FileManager.default.removeItem(at: folder)
    }

    private func end() {
        // The guardian ends first, so that it never kills a later process with the gateway's number. It ends by a line, not by a
        // signal: a child of a pool's thread starts with that thread's mask, which blocks SIGTERM.
        try? lifeline.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        guardian.waitUntilExit()
        if process.isRunning {
            // Ends at once: SIGTERM would begin a drain.
            process.interrupt()
            process.waitUntilExit()
        }
    }

    // MARK: - What it uses

    func usage() throws -> Usage {
        let stat = try String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
        // After the name, which may contain blanks: user and system time are fields 14 and 15 (proc(5)).
        let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ")
        let ticks = (Int64(fields[12]) ?? 0) + (Int64(fields[13]) ?? 0)
        let rollup = try String(contentsOfFile: "/proc/\(process.processIdentifier)/smaps_rollup", encoding: .utf8)
        let kilobytes = rollup.split(separator: "\n").filter { $0.hasPrefix("Private_") }
            .compactMap { Int64($0.split(separator: " ")[1]) }.reduce(0, +)
        return Usage(
            cpuMicroseconds: ticks * 1_000_000 / Int64(sysconf(Int32(_SC_CLK_TCK))), residentBytes: kilobytes * 1024)
    }

    // MARK: - Start

    private func waitUntilReady(_ admin: UInt16) throws {
        for _ in 0..<200 {
            guard process.isRunning else {
                throw Problem(description: "livegate ended at its start with status \(process.terminationStatus)")
            }
            if Self.answers("/readyz", admin) { return }
            usleep(50_000)
        }
        throw Problem(description: "livegate was not ready within 10 s")
    }

    /// How long the administration may be silent within an answer: it makes the longest in some milliseconds.
    private static let answerSeconds = 10

    /// Whether the administration answers this path with 200. Waits for the whole answer.
    static func answers(_ path: String, _ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var patience = timeval(tv_sec: answerSeconds, tv_usec: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        guard unsafe withLoopback(port, { unsafe connect(descriptor, $0, $1) }) == 0 else { return false }
        let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard unsafe send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) > 0 else { return false }
        var (answer, piece) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = unsafe recv(descriptor, &piece, piece.count, 0)
            guard count >= 0 else { return false }
            guard count > 0 else { break }
            answer += piece[..<count]
        }
        return String(decoding: answer.prefix(12), as: UTF8.self) == "HTTP/1.1 200"
    }

    /// A port that was free a moment ago.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        guard unsafe withLoopback(0, { unsafe bind(descriptor, $0, $1) }) == 0 else {
            throw Problem(description: "no free port on the loopback address")
        }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func withLoopback(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func makeCertificate(in folder: URL) throws {
        let tool = Process()
        tool.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tool.arguments =
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            + ["-keyout", folder.appendingPathComponent("key.pem").path]
            + ["-out", folder.appendingPathComponent("chain.pem").path, "-days", "2", "-subj", "/CN=localhost"]
        tool.standardError = FileHandle.nullDevice
        try tool.run()
        tool.waitUntilExit()
        guard tool.terminationStatus == 0 else {
            throw Problem(description: "openssl, which makes the certificate, ended with \(tool.terminationStatus)")
        }
    }
}
