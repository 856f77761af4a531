import Foundation
import GatewaySettings
import HTTP
import Reactor
import Testing
import Tokens
import Transport
import WebSocket

@testable import Balancer
@testable import Gateway
@testable import Kafka
@testable import LiveUpdates
@testable import Logging
@testable import Reactor

/// The tables of limits in the pages beside the code. Each of their rows has one here, with the numbers that the code goes by:
/// no other number may stand in the page, and no row that is not here.
struct LimitTableTests {
    /// How a row begins, and the numbers of its second column in their order. Settings stand in it by name.
    typealias Row = (what: String, numbers: [Int])

    private static func seconds(_ milliseconds: some BinaryInteger) -> Int { Int(milliseconds) / 1_000 }

    private static func code(_ code: CloseCode) -> Int { Int(code.rawValue) }

    private static let answers = ArchivePolicy(maximumTimestampDelayMilliseconds: 0)
    private static let requests = RequestLimits()
    private static let busy = RefusalCode.overloaded.status
    private static let tooMany = RefusalCode.tooMany.status

    static let gateway: [Row] = [
        ("records a wake", [Consumer.maximumBatch]),
        ("events that a loop may owe", [LoopBacklog.maximumEvents]),
        ("bytes handed to a socket that has accepted none", []),
        ("how long a stream may be behind", [code(.tooSlow)]),
        (
            "slices kept for those who are behind",
            [seconds(RecentSlices.keptMilliseconds), LoopFanOut<Connection>.maximumRecentBytes >> 20]
        ),
        ("a join whose cursor is further", [seconds(UndecidedJoins<Int>.patienceMilliseconds)]),
        (
            "requests of `/sync/v1` that wait for a node which is behind the cursor of `upto`",
            [ReadsBehind<Int, Int>.maximumReads, seconds(SyncParameters.defaultUpToMilliseconds)]
        ),
        (
            "records that joins wait for",
            [UndecidedJoins<Int>.maximumProbes, Int(ProbeTurns.recordTimeoutMilliseconds)]
        ),
        (
            "lists of brokers that librdkafka is given again",
            [
                seconds(BrokerReminder.patience), seconds(BrokerReminder.longestPause) / 60,
                BrokerReminder.sparingCount,
            ]
        ),
        ("events that are kept", []),
        ("entities that an account's full log keeps apart", [LetGoByEntity.maximumEntities]),
        ("events that a filter leaves out", [2]),
        ("time without a cursor", [5]),
        ("what is read ahead of the answer", [EarlyBytes.maximumBytes >> 10]),
        ("the time limit for sending that answer", []),
        ("entities that a client names", [EntityFilter.maximumNames]),
        ("an answer of `/sync/v1`", []),
        ("a request", [requests.maximumLineBytes >> 10]),
        ("between two requests on a connection", [seconds(ConnectionLoop.idleRequestMilliseconds)]),
        ("the peer's own end of an idle", [Int(ConnectionLoop.idleEndMilliseconds)]),
        (
            "what a client sends behind an event stream's request",
            [ConnectionLoop.maximumStrayBytes >> 10, code(.policyViolation)]
        ),
        ("a client's message", []),
        ("a client's next token", [SentToken.maximumMessageBytes >> 10]),
        (
            "a ticket, its life, the secrets that read it",
            [TicketSeal.maximumTextBytes, Int(Ticket.maximumLifetimeSeconds) / 60, TicketSeal.maximumSecrets]
        ),
        ("tickets that were used and have not ended", [UsedTickets.maximumTickets, busy, tooMany]),
        ("what is revoked and still counts", [Revocations.maximumEntries]),
        ("accounts of which something was erased", [Erasures.maximum]),
        ("a record of the control topic", [ControlRecord.maximumBytes >> 10]),
        ("what is owed to a stream that is behind about its token", []),
        ("what a client sends within a second", [code(.tooMuch)]),
        ("accounts whose requests and refusals of a minute are counted", [2 * AccountLoad.maximumAccounts]),
        ("connections of the node, an account, a user, an address", []),
        ("refusals of an address that wait", [ConnectionLoop.maximumLateRefusals]),
        ("requests on one connection", [ConnectionLoop.maximumPreflights]),
        ("tokens that a client sends on an open stream", [TokenRate.maximumTokensPerSecond, code(.tooMuch)]),
        ("keys that one token is tried with", [TrustedIssuer.maximumTries]),
        ("JWTs that were verified", [VerifiedTokens.maximumTokens, VerifiedTokens.maximumBytes >> 20]),
        (
            "what a node asks a server of tokens",
            [
                IntrospectionAnswers<Int>.maximumOpen, IntrospectionAnswers<Int>.reservedOpen,
                IntrospectionAnswers<Int>.maximumWaiting, IntrospectionAnswers<Int>.maximumAnswers,
            ]
        ),
        ("who waits for the keys of issuers", [KeyLookup.maximumWaiting, busy]),
        (
            "a client's message, from its first frame",
            [seconds(ConnectionPolicy.messageMilliseconds), code(.policyViolation)]
        ),
        ("handshakes of TLS a tick", [TransportLimits().handshakesPerTick]),
        ("how long a loop serves events", [Int(EventLoop.turnMicroseconds) / 1_000]),
        ("one piece of work that goes on in slices", [Int(EventLoop.sliceMicroseconds) / 1_000]),
        ("accounts that are notified of a reset", [Ingest.accountsPerSlice]),
        ("a PROXY header", [ProxyHeaderParser.maximumTextBytes, 1, ProxyHeaderParser.maximumBinaryBytes, 2]),
        ("connections to the administration", [AdminConnections.maximumConnections]),
        ("slices that were written and have not left", []),
        ("networks of balancers", [TrustedNetworks.maximumNetworks]),
        ("a log line's cause", [Int(RateLimiter.interval.components.seconds)]),
    ]

    static let administration: [Row] = [
        ("connections at once", [AdminConnections.maximumConnections]),
        ("a request with its body", [AdminRequestReader.maximumBodyBytes >> 10]),
        ("between two requests", [seconds(AdminConnection.idleMilliseconds)]),
        (
            "closing behind the last answer",
            [
                Int(AdminConnection.hurriedMilliseconds),
                seconds(ByteStream<AdminConnection>.lingerLimitMilliseconds),
            ]
        ),
        ("reading an answer", [seconds(AdminConnection.takingMilliseconds)]),
        ("asking a loop", [seconds(Administration.questionMilliseconds)]),
    ]

    private static func text(_ page: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Gateway/Gateway.docc").standardizedFileURL
        return try String(contentsOf: folder.appending(path: page), encoding: .utf8)
    }

    /// The rows under the heading "What is bounded" of a page: their cells.
    private static func rows(_ page: String) throws -> [[String]] {
        let text = try text(page)
        let parts = text.components(separatedBy: "\n## What is bounded\n")
        try #require(parts.count == 2)
        let section = try #require(parts[1].components(separatedBy: "\n## ").first)
        let lines = section.split(separator: "\n").filter { $0.hasPrefix("| ") }
        return lines.dropFirst(2).map {
            $0.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// Names of settings and of paths are no numbers of ours.
    private static func numbers(_ cell: String) -> [Int] {
        cell.replacing(/`[^`]*`/, with: "").matches(of: /[0-9][0-9,]*/).compactMap {
            Int($0.output.replacing(",", with: ""))
        }
    }

    @Test(arguments: [("Gateway.md", gateway), ("Administration.md", administration)])
    func `the limits of a page are those of the code, one row each`(_ page: String, _ expected: [Row]) throws {
        let found = try Self.rows(page)
        #expect(found.count == expected.count)
        for (cells, row) in zip(found, expected) {
            #expect(cells[1].hasPrefix(row.what), "\(cells[1]) stands where '\(row.what)' was expected")
            #expect(Self.numbers(cells[2]) == row.numbers, "\(cells[1]): \(cells[2])")
        }
    }

    @Test(arguments: [
        ("Revocation.md", "with 69 if that lasted more than \(seconds(ControlWriter.timeoutMilliseconds)) s"),
        ("Archive.md", "are refused within \(seconds(answers.answerMilliseconds)) s"),
    ])
    func `a time that an article promises is the one of the code`(_ page: String, _ promise: String) throws {
        #expect(try Self.text(page).contains(promise))
    }

    @Test(arguments: ["Gateway.md", "Administration.md"])
    func `a setting that a limit names is one`(_ page: String) throws {
        let paths = SettingsTable.rows.map(\.path)
        for cells in try Self.rows(page) {
            for name in cells[2].matches(of: /`([a-z_.]+)`/).map({ String($0.output.1) }) where name.contains("_") {
                #expect(paths.contains { $0 == name || $0.hasSuffix("." + name) }, "\(cells[1]): \(name)")
            }
        }
    }

    @Test func `what streams are held to is what the page says of the settings`() throws {
        func policy(_ text: String) throws -> (StreamPolicy, Settings) {
            let all = "auth: {anonymous: PACC1}\nhistory: \(text)\n"
            let settings = try #require(Settings.load(text: Array(all.utf8), file: "gate.yaml").settings)
            return (StreamPolicy(settings), settings)
        }
        let (long, settings) = try policy("{retention: 8h}")
        #expect(long.maximumPassedOver == settings.history.maximumEventsPerAccount / 2)
        #expect(long.quietMilliseconds == 3_600_000)
        #expect(try policy("{retention: 20s, max_timestamp_delay: 1s}").0.quietMilliseconds == 5_000)
    }
}
