import Glibc
import Options
import Reactor
import TLS
import Transport
import WebSocket

/// A WebSocket server that echoes every message, on the cores that the gateway stands on. For conformance tests.
@main struct WSEcho {
    private static let port = SingleOption(
        "port", .integer(in: 0...65535), isRequired: true, help: "listen on 127.0.0.1 there; 0 takes a free one")
    private static let tls = Flag("tls", help: "speak TLS")
    private static let certificate = SingleOption("certificate", .file(), help: "with --tls: a PEM file")
    private static let key = SingleOption("key", .file(), help: "with --tls: a PEM file")
    private static let deflate = Flag("deflate", help: "agree to permessage-deflate, with whatever parameters")

    private static let command = Command(
        "wsecho", summary: "echo WebSocket messages",
        details: ["Prints the address on a line of its own, then serves until it is killed."],
        options: [port, tls, certificate, key, deflate])

    static func main() {
        let arguments = command.parseOrExit()
        do {
            let security = try security(arguments)
            let loop = try EventLoop(label: "echo")
            let policy: DeflatePolicy? = arguments[deflate] ? .accommodating : nil
            let wanted = SocketAddress.loopback(port: UInt16(arguments.required(port)))
            loop.execute { listen(wanted, loop, security, policy) }
        } catch {
            StandardError.line("wsecho: \(error)")
            exit(ExitStatus.system.code)
        }
        while true { pause() }
    }

    private static func security(_ arguments: Arguments) throws(TLSError) -> TransportSecurity {
        guard arguments[tls] else { return .plain }
        guard let certificate = arguments[certificate], let key = arguments[key] else {
            command.exitWrongUse("--tls needs --certificate and --key")
        }
        return .server(try TLSContext.server(certificate: certificate, key: key))
    }

    private static func listen(
        _ wanted: SocketAddress, _ loop: EventLoop, _ security: TransportSecurity, _ policy: DeflatePolicy?
    ) {
        let shared = TransportLoop(loop: loop)
        do {
            let listener = try Listener(address: wanted, loop: loop) { descriptor, _ in
                // A server's transport does not throw: only the name of a client's can be a bad one.
                guard let transport = try? Transport<EchoConnection>(descriptor, security: security, on: shared) else {
                    return
                }
                transport.start(EchoConnection(transport, deflate: policy))
            }
            StandardOutput.write("\(listener.address)\n")
        } catch {
            StandardError.line("wsecho: \(error)")
            exit(ExitStatus.system.code)
        }
    }
}
