import ConformancePeer
import Glibc
import HTTP
import Options
import Reactor
import TLS
import Transport
import WebSocket

/// Asks a fuzzing server for the number of its cases, runs one after the other, and has it write its report. Confined
/// to its loop.
final class CaseRun {
    private let url: WebSocketURL
    private let host: String
    private let agent: String
    private let security: TransportSecurity
    private let offer: DeflateOffer?
    private let shared: TransportLoop
    private var cases = 0
    private var next = 1

    init(
        _ url: WebSocketURL, host: String, agent: String, security: TransportSecurity, offer: DeflateOffer?,
        on shared: TransportLoop
    ) {
        self.url = url
        self.host = host
        self.agent = agent
        self.security = security
        self.offer = offer
        self.shared = shared
    }

    func begin() {
        open("/getCaseCount") { firstText, fault in
            guard fault == nil, let count = Int(String(decoding: firstText ?? [], as: UTF8.self)) else {
                self.giveUp("no number of cases: \(fault ?? "nothing came")")
            }
            self.cases = count
            self.runNext()
        }
    }

    private func runNext() {
        guard next <= cases else { return report() }
        let number = next
        next += 1
        open("/runCase?case=\(number)&agent=\(agent)") { _, fault in
            // The suite judges the case; here it is only told what it cannot see.
            if let fault { StandardError.line("wsecho-client: case \(number): \(fault)") }
            self.runNext()
        }
    }

    private func report() {
        open("/updateReports?agent=\(agent)") { _, fault in
            if let fault { self.giveUp("no report: \(fault)") }
            StandardOutput.write("\(self.cases) cases run\n")
            exit(ExitStatus.success.code)
        }
    }

    private func open(_ target: String, ended: @escaping (_ firstText: [UInt8]?, _ fault: String?) -> Void) {
        guard case .host(let name, let port) = url.destination else { giveUp("not a host: \(url.description)") }
        let endpoint = Endpoint(host: name, port: UInt16(port))
        Connector.connect(to: endpoint, loop: shared.loop) { [self] result in
            do {
                let descriptor = try result.get()
                let conversation = try CaseConversation(
                    target: target, host: host, deflate: offer, echoes: target.hasPrefix("/runCase"))
                let transport = try Transport<CaseConnection>(descriptor, security: security, on: shared)
                transport.start(CaseConnection(transport, conversation, ended: ended))
            } catch {
                giveUp("\(error)")
            }
        }
    }

    private func giveUp(_ why: String) -> Never {
        StandardError.line("wsecho-client: \(why)")
        exit(ExitStatus.system.code)
    }
}
