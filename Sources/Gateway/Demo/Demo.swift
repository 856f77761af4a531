import GatewaySettings
import HTTP
import LiveUpdates
import Logging
import Reactor
import TLS
import Tokens

/// Gateway, embedded broker and feed in one process: no file, no other program.
package struct Demo: Sendable {
    /// What a user needs once everything is ready.
    package struct Invitation: Sendable {
        /// The gateway's address; another one than requested if that was in use.
        package let address: SocketAddress
        /// The API's address; the same is true of it.
        package let api: SocketAddress
        package let account: String
        package let token: String
    }

    static let topic = "incidents"
    static let partitions = 4
    /// Bytes of the token: enough that it cannot be guessed.
    static let tokenBytes = 24

    private let port: UInt16
    private let apiPort: UInt16
    /// The file of the archive; nil: there is no archive.
    private let archive: String?
    private let seconds: Int?
    private let logger: Logger

    package init(port: UInt16, apiPort: UInt16, archive: String?, seconds: Int?, logger: Logger) {
        self.port = port
        self.apiPort = apiPort
        self.archive = archive
        self.seconds = seconds
        self.logger = logger
    }

    /// Runs until a signal or the end of its time. `ready` is called once clients are let in.
    package func run(ready: @escaping @Sendable (Invitation) -> Void) async throws(GatewayError) {
        let token = Base64.encodeURL(Random.bytes(Self.tokenBytes))
        let account = DemoFeed.accounts[0]
        let socket = try apiSocket()
        let feed = try await DemoFeed.start(
            DemoSite.Door(account: account, token: token), api: socket, hasPast: archive != nil,
            logger: logger.named("feed"))
        let parts = try parts(
            bootstrap: feed.bootstrap, token: token, account: account, pages: socket.address)
        do throws(GatewayError) {
            try await Service(parts, logger: logger, seconds: seconds).run(ready: { addresses in
                feed.go(gateway: addresses[0])
                ready(Invitation(address: addresses[0], api: socket.address, account: account, token: token))
            })
        } catch {
            feed.stop()
            throw error
        }
        feed.stop()
    }

    private func parts(
        bootstrap: String, token: String, account: String, pages: SocketAddress
    ) throws(GatewayError) -> GatewayServer.Parts {
        let mapping: EventMapping
        do throws(MappingError) {
            mapping = try EventMapping(IncidentFeed.mapping)
        } catch {
            throw .settings("\(error)")
        }
        let entry = StaticTokens.Entry(
            digest: Digest.sha256(Array(token.utf8)), account: Account(account), subject: "demo")
        var settings = Settings()
        settings.listen = [freeAddress(port)]
        // The demo's own pages, by both names of this machine.
        settings.auth.origins = ["127.0.0.1", "localhost"].compactMap {
            try? OriginPattern("http://\($0):\(pages.port ?? 0)")
        }
        settings.kafka.brokers = bootstrap
        // A demo has no phones to wait for: the user who ends it does not want to wait.
        settings.lifecycle.drainDelay = .zero
        settings.lifecycle.drainWindow = .zero
        settings.kafka.topics = [Self.topic]
        if let archive { settings.archive.store = .sqlite(path: archive) }
        // An empty fetch of the embedded broker waits for the whole of this time before it is answered.
        settings.kafka.settings = [KafkaProperty(name: "fetch.wait.max.ms", value: "10")]
        return GatewayServer.Parts(
            settings: settings, mapping: mapping,
            verifier: TokenVerifier(issuers: [], tokens: StaticTokens([entry])), servesAdmin: false)
    }

    /// Bound before the gateway starts, which has to know its pages.
    private func apiSocket() throws(GatewayError) -> ListeningSocket {
        do throws(ReactorError) {
            return try ListeningSocket.open(freeAddress(apiPort))[0]
        } catch {
            throw .listen(error)
        }
    }

    /// The requested port, or one that the system chooses when that is in use.
    private func freeAddress(_ port: UInt16) -> SocketAddress {
        let wanted = SocketAddress.loopback(port: port)
        if (try? ListeningSocket.open(wanted)) != nil { return wanted }
        return .loopback(port: 0)
    }
}
