import Foundation
import PostgreSQL
import Synchronization
import TestHarness

/// A server of PostgreSQL for tests, on a Unix socket in a temporary folder. It ends with this process, however that ends.
final class PostgreSQLServer: Sendable {
    /// Started at the first use, by whichever test that is.
    static let shared = PostgreSQLServer()

    /// The newest of Debian's.
    private static let programs: String? = {
        let place = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []).compactMap(Int.init)
        return versions.max().map { "\(place)/\($0)/bin" }
    }()

    static var isInstalled: Bool { programs != nil }

    struct Failed: Error {
        let what: String
    }

    private let folder = TemporaryFolder()
    /// The server ends when this does.
    private let lifeline = Mutex<Pipe?>(nil)

    init() {
        do {
            try Self.run(["chmod", "755", folder.path])
            try Self.run(["mkdir", folder.path("data")])
            // initdb refuses root: then it is somebody who has nothing else.
            if getuid() == 0 { try Self.run(["chown", "-R", "nobody", folder.path]) }
            let make = ["initdb", "-D", folder.path("data"), "-A", "trust", "-U", "livegate", "-N", "-E", "UTF8"]
            try Self.run(Self.asUser(make + ["--no-locale"]))
            try start()
        } catch {
            fatalError("no PostgreSQL for tests: \(error)")
        }
    }

    deinit { try? lifeline.withLock { try $0?.fileHandleForWriting.close() } }

    // MARK: - The server

    /// Returns when it answers.
    func start() throws {
        // Nobody else removes the folder of a server that lives as long as its process.
        let script = """
            test=$PPID folder=$1; shift
            "$@" >"$0" 2>&1 & server=$!; cat >/dev/null; kill -QUIT $server 2>/dev/null; wait $server
            case $(ps -o state= -p $test) in ''|Z*) rm -rf "$folder" ;; esac
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        let server = Self.asUser([
            "postgres", "-D", folder.path("data"), "-k", folder.path, "-c", "listen_addresses=", "-c", "fsync=off",
            "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "autovacuum_naptime=1",
        ])
        process.arguments = ["-c", script, folder.path("log"), folder.path] + server
        let pipe = Pipe()
        process.standardInput = pipe
        try process.run()
        lifeline.withLock { $0 = pipe }
        if waitUntil({ (try? session("postgres").run { try $0.command("SELECT 1") }) != nil }) { return }
        throw Failed(what: (try? String(contentsOfFile: folder.path("log"), encoding: .utf8)) ?? "no log")
    }

    /// The first line of a file that the server writes as long as it runs.
    private var identifier: pid_t {
        get throws {
            let lines = try String(contentsOfFile: folder.path("data/postmaster.pid"), encoding: .utf8)
            guard let number = pid_t(lines.split(separator: "\n").first ?? "") else { throw Failed(what: lines) }
            return number
        }
    }

    /// SIGQUIT: as if the machine had lost power; SIGINT: with all its sessions. Returns when it has ended.
    func stop(_ signal: Int32) throws {
        let identifier = try identifier
        kill(identifier, signal)
        if waitUntil({ kill(identifier, 0) != 0 }) { return }
        throw Failed(what: "the server does not end")
    }

    /// SIGSTOP or SIGCONT, to all its processes.
    func signalAll(_ signal: Int32) throws {
        let identifier = try identifier
        let children = try Self.run(["pgrep", "-P", "\(identifier)"]).split(separator: "\n").compactMap { pid_t($0) }
        for process in [identifier] + children { kill(process, signal) }
    }

    // MARK: - Databases

    /// Makes one, and returns its URI.
    func makeDatabase() throws -> String {
        let name = "t" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try session("postgres").run { try $0.command("CREATE DATABASE \(name)") }
        return uri(name)
    }

    func uri(_ database: String) -> String {
        "postgresql://livegate@\(folder.path.replacing("/", with: "%2F"))/\(database)"
    }

    /// Returns when they have ended.
    func cutSessions(of uri: String) throws {
        try session("postgres").run { connection in
            let name = uri.split(separator: "/").last ?? ""
            _ = try connection.run(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = convert_from($1, 'UTF8')",
                [.text(String(name))])
        }
    }

    func session(_ database: String) -> Session { Self.session(uri(database)) }

    static func session(_ uri: String, milliseconds: UInt64 = 20_000) -> Session {
        let password: @Sendable () throws(PostgreSQLError) -> String? = { () throws(PostgreSQLError) in nil }
        return Session(
            .init(uri: uri, password: password, milliseconds: milliseconds), interruption: Interruption()
        ) { _ in }
    }

    // MARK: - Programs

    private static func asUser(_ words: [String]) -> [String] {
        let command = ["\(programs ?? "")/\(words[0])"] + words.dropFirst()
        return getuid() == 0 ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] + command : command
    }

    @discardableResult
    private static func run(_ words: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: bytes, as: UTF8.self)
        guard process.terminationStatus == 0 else { throw Failed(what: "\(words): \(text)") }
        return text
    }
}
