import Foundation
import Kafka
import Synchronization
import Testing

/// Apache Kafka itself, from the folder `shared` beside the repository (or `LIVEGATE_SHARED`).
///
/// One cluster runs at a time, for as long as tests ask for the same one; it ends with the pipe that this process holds.
final class ApacheKafka: Sendable {
    struct Node: Decodable { var fault: String }

    struct Description: Decodable {
        struct Bootstrap: Decodable { var plaintext, tls, sasl, saslTls, faults: String }
        var dir: String
        var ca: String
        var clientCertificate: String
        var bootstrap: Bootstrap
    }

    struct Failure: Error, CustomStringConvertible { var description: String }

    /// What a cluster is started with.
    enum Kind: String {
        /// One node with an authorizer: users of the SASL ports may do nothing until granted.
        case current, previous
        /// Three nodes, three copies of everything.
        case threeNodes

        var arguments: [String] {
            switch self {
            case .current:
                [
                    "--version", "4.2", "--acl", "--property", "log.initial.task.delay.ms=500", "--property",
                    "log.cleaner.backoff.ms=200",
                ]
            case .previous: ["--version", "3.9", "--acl"]
            case .threeNodes: ["--nodes", "3"]
            }
        }
    }

    let kind: Kind
    let description: Description
    private let process: Process
    private let input: Pipe

    private static let running = Mutex<ApacheKafka?>(nil)

    /// Becomes a command that keeps a block of ports, whose first one stands for the word PORT.
    private static let keeper = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Harness/Python/ports.py").path

    static let tool: String = {
        let beside = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../shared").path
        let shared = ProcessInfo.processInfo.environment["LIVEGATE_SHARED"] ?? beside
        return shared + "/kafka/kafka"
    }()

    static let isThere: Bool = {
        let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return FileManager.default.isExecutableFile(atPath: tool)
            && paths.contains { FileManager.default.isExecutableFile(atPath: "\($0)/java") }
    }()

    /// The cluster of that kind, started if another one or none runs.
    static func cluster(_ kind: Kind) throws -> ApacheKafka {
        try running.withLock { running in
            if let running, running.kind == kind { return running }
            running?.end()
            running = nil
            let cluster = try ApacheKafka(kind)
            running = cluster
            return cluster
        }
    }

    private init(_ kind: Kind) throws {
        self.kind = kind
        let folder = FileManager.default.temporaryDirectory.appending(path: "livegate-kafka-\(UUID().uuidString)").path
        (process, input) = (Process(), Pipe())
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        // A node of three, or one beside other tests, has its port open after a minute and more.
        process.arguments =
            ["python3", Self.keeper, Self.tool, "run", "--until-eof", "--port", "PORT", "--heap", "256m"]
            + ["--wait", "300", "--dir", folder] + kind.arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { throw Failure(description: "Apache Kafka did not start") }
            line += part
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        description = try decoder.decode(Description.self, from: line)
    }

    private func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    var plaintext: String { description.bootstrap.plaintext }
    var faults: String { description.bootstrap.faults }

    /// Runs a command such as `kill 1` or `fault all stall`, and waits for it.
    @discardableResult
    func run(_ words: String...) throws -> String { try run(words) }

    @discardableResult
    func run(_ words: [String]) throws -> String {
        let command = Process()
        let output = Pipe()
        command.executableURL = URL(filePath: Self.tool)
        command.arguments = ["--dir", description.dir] + words
        command.standardOutput = output
        command.standardError = output
        try command.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        command.waitUntilExit()
        guard command.terminationStatus == 0 else { throw Failure(description: "kafka \(words): \(said)") }
        return said
    }

    func administrator() throws -> Administrator { try Administrator(brokers: plaintext) }
    func producer(_ properties: [(String, String)] = []) throws -> Producer {
        try Producer(brokers: plaintext, properties)
    }

    /// A consumer on one of the addresses, started and ready, unless `readying` is false.
    func reading(
        _ topics: String..., at address: String? = nil, _ properties: [(String, String)] = [], readying: Bool = true
    ) throws -> Reading {
        let reading = try Reading(
            ConsumerSettings(brokers: address ?? plaintext, topics: topics, properties: properties))
        guard readying else { return reading }
        guard reading.run(until: { $0.isReady }) else {
            throw Failure(description: "not ready: \(reading.readiness), \(reading.notices)")
        }
        return reading
    }
}

/// Names of topics that no other test uses.
func freshTopic(_ purpose: String = #function) -> String {
    let number = Int.random(in: 0..<1_000_000)
    return "t\(number)"
}
