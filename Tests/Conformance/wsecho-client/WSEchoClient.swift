import Glibc
import HTTP
import Options
import Reactor
import TLS
import Transport
import WebSocket

/// A WebSocket client that echoes every message, on the cores that the client library stands on. For conformance tests.
@main struct WSEchoClient {
    private static let agent = SingleOption(
        "agent", .text("NAME"), help: "what the reports call it; the default is client")
    private static let authorities = SingleOption(
        "ca", .file(), help: "PEM file of the authorities for wss; without it nothing is verified")
    private static let host = SingleOption(
        "host", .text("HOST:PORT"), help: "what to send as Host, where the fuzzing server stands behind another port")
    private static let deflate = Flag("deflate", help: "offer permessage-deflate")

    private static let command = Command(
        "wsecho-client", summary: "run the cases of a fuzzing WebSocket server",
        options: [agent, authorities, host, deflate],
        operands: [Operand("URL", help: "where the fuzzing server listens")])

    static func main() {
        let arguments = command.parseOrExit()
        do {
            let url = try WebSocketURL(arguments.operands[0])
            let security = try security(url, arguments[authorities])
            let offer = arguments[deflate] ? DeflateOffer() : nil
            let name = arguments[agent] ?? "client"
            let host = arguments[host] ?? url.host
            let loop = try EventLoop(label: "client")
            loop.execute {
                CaseRun(
                    url, host: host, agent: name, security: security, offer: offer, on: TransportLoop(loop: loop)
                ).begin()
            }
        } catch {
            StandardError.line("wsecho-client: \(error)")
            exit(ExitStatus.system.code)
        }
        while true { pause() }
    }

    private static func security(_ url: WebSocketURL, _ authorities: String?) throws(TLSError) -> TransportSecurity {
        guard url.isSecure, case .host(let name, _) = url.destination else { return .plain }
        let settings = TLSClientSettings(authorities: authorities, verifies: authorities != nil)
        return .client(try TLSContext.client(settings), name: name)
    }
}
