import Glibc
import Reactor
import TLS
import TestHarness
import Testing
import Transport

/// A listener that answers what the `openssl` command sends, in upper case, and closes at a full stop.
private struct ToolServer {
    let rig: LoopRig
    let port: UInt16
    let recorders = Shared<[Recorder]>([])

    init(_ security: TransportSecurity) throws {
        let recorders = recorders
        rig = try LoopRig()
        port = rig.listen(security) { _, _ in
        } onReceive: { transport, bytes in
            transport.write(bytes.map { (97...122).contains($0) ? $0 - 32 : $0 })
            if bytes.contains(UInt8(ascii: ".")) { transport.close() }
        } accept: { recorder in
            recorders.update { $0.append(recorder) }
        }
    }

    func client(_ arguments: [String], input: String = "hello.\n") -> Command.Result {
        Command.run(
            [
                "timeout", "90", "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile",
                Authority.shared.root,
                "-ign_eof",
            ] + arguments, in: Authority.shared.directory, input: input)
    }
}

@Suite struct `The openssl command` {
    private let authority = Authority.shared

    private func server(rsa: Bool = false) throws -> ToolServer {
        let context = try TLSContext.server(
            certificate: rsa ? authority.rsaChain : authority.chain, key: rsa ? authority.rsaKey : authority.key)
        return try ToolServer(.server(context))
    }

    @Test(arguments: [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")], [false, true])
    func `talks to our server and trusts its chain`(version: (flag: String, name: String), rsa: Bool) throws {
        let server = try server(rsa: rsa)
        let result = server.client([
            version.flag, "-servername", "gate.example", "-verify_hostname", "gate.example", "-verify_return_error",
            "-alpn", "h2,http/1.1",
        ])
        #expect(result.output.contains("HELLO.\n"))
        #expect(result.output.contains("Verify return code: 0 (ok)"))
        #expect(result.output.contains("ALPN protocol: http/1.1"))
        #expect(result.output.contains("New, \(version.name)"))
        #expect(result.output.contains("Compression: NONE"))
        #expect(result.status == 0, "our close_notify reached it")
        #expect(server.rig.counters.handshakes == 1)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func `resumes with a ticket`(version: String) throws {
        let server = try server()
        let ticket = authority.freshPath()
        let first = server.client([version, "-sess_out", ticket])
        #expect(first.output.contains("HELLO.\n") && first.output.contains("New, "))
        let second = server.client([version, "-sess_in", ticket])
        #expect(second.output.contains("HELLO.\n") && second.output.contains("Reused, "))
        #expect(server.rig.counters.handshakes == 2 && server.rig.counters.resumed == 1)
    }

    @Test(arguments: ["-tls1", "-tls1_1"]) func `is refused with an old version`(version: String) throws {
        let server = try server()
        let result = server.client([version, "-cipher", "ALL:@SECLEVEL=0"])
        #expect(result.status != 0 && result.output.contains("alert protocol version"))
        waitFor("the count") { server.rig.counters[.unsupportedVersion] == 1 }
    }

    @Test func `is refused without forward secrecy, or with other protocols only`() throws {
        let server = try server(rsa: true)
        let noSecrecy = server.client(["-tls1_2", "-cipher", "AES128-GCM-SHA256"])
        #expect(noSecrecy.status != 0 && noSecrecy.output.contains("handshake failure"))
        waitFor("the count") { server.rig.counters[.noSharedCipher] == 1 }
        let http2 = server.client(["-alpn", "h2"])
        #expect(http2.status != 0 && http2.output.contains("no application protocol"))
        waitFor("the count") { server.rig.counters[.noApplicationProtocol] == 1 }
    }

    @Test func `may not renegotiate`() throws {
        let server = try server()
        // "R" renegotiates only while the standard input is open, which a pipe without an end is.
        let pipe = authority.freshPath()
        let output = authority.freshPath()
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        let feeder = unsafe open(pipe, O_RDWR)
        defer { close(feeder) }
        let child = Command.start(
            ["timeout", "90", "openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-tls1_2"],
            in: authority.directory, input: pipe, output: output)
        waitFor("the handshake") { server.rig.counters.handshakes == 1 }
        _ = unsafe write(feeder, "R\n", 2)
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
        let text = String(decoding: Command.read(output), as: UTF8.self)
        #expect(text.contains("RENEGOTIATING") && text.contains("no renegotiation"))
        #expect(server.rig.counters.handshakes == 1)
    }

    @Test func `updates its keys as often as it likes`() throws {
        let server = try server()
        let pipe = authority.freshPath()
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        let feeder = unsafe open(pipe, O_RDWR)
        defer { close(feeder) }
        let output = authority.freshPath()
        let child = Command.start(
            ["timeout", "90", "openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-tls1_3"],
            in: authority.directory, input: pipe, output: output)
        waitFor("the handshake") { server.rig.counters.handshakes == 1 }
        func received() -> [UInt8] { server.recorders.value[0].log.value.received }
        // "K" asks for our update too, "k" does not. Each line is one read of the command.
        for (index, line) in ["K\n", "a\n", "k\n", "b\n", "K\n", ".\n"].enumerated() {
            _ = unsafe write(feeder, line, 2)
            if line == "a\n" || line == "b\n" { waitFor(line) { received().count == (index + 1) / 2 * 2 } }
            if line == "K\n" || line == "k\n" {
                waitFor(line) {
                    let text = String(decoding: Command.read(output), as: UTF8.self)
                    return text.split(separator: "KEYUPDATE").count - 1 == index / 2 + 1
                }
            }
        }
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 && errno == EINTR {}
        let text = String(decoding: Command.read(output), as: UTF8.self)
        #expect(text.contains("A\n") && text.contains("B\n"))
        #expect(status == 0)
    }

    /// - Returns: a running `s_server` and its port.
    private func toolServer(_ arguments: [String]) -> (process: pid_t, port: UInt16) {
        let path = authority.freshPath()
        let child = Command.start(
            [
                "timeout", "90", "openssl", "s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-rev", "-cert",
                authority.path("ecdsa.pem"), "-key", authority.key, "-cert_chain", authority.path("middle.pem"),
            ] + arguments,
            in: authority.directory, input: "/dev/null", output: path)
        var port: UInt16 = 0
        waitFor("a port") {
            let text = String(decoding: Command.read(path), as: UTF8.self)
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT ") }) else { return false }
            port = UInt16(line.split(separator: ":").last ?? "") ?? 0
            return port != 0
        }
        return (child, port)
    }

    private func reap(_ process: pid_t) {
        kill(process, SIGTERM)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"]) func `serves our client`(version: String) throws {
        let (process, port) = toolServer([version])
        defer { reap(process) }
        let rig = try LoopRig()
        let descriptor = Loopback.connect(port)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let client = rig.start(descriptor, try Kind.tls.client())
        client.with(rig) { $0.write(Array("stressed\n".utf8)) }
        client.wait("the word reversed") { $0.received == Array("desserts\n".utf8) }
        let agreement = try #require(client.with(rig) { $0.agreement })
        #expect(agreement.version == (version == "-tls1_2" ? "TLSv1.2" : "TLSv1.3"))
        client.with(rig) { $0.close() }
        client.wait("the end") { $0.end != nil }
    }

    @Test func `asks our client for its certificate`() throws {
        for withCertificate in [true, false] {
            let (process, port) = toolServer(
                ["-Verify", "3", "-verify_return_error", "-CAfile", authority.root])
            defer { reap(process) }
            var settings = TLSClientSettings(authorities: authority.root)
            if withCertificate {
                settings.certificate = authority.chain
                settings.key = authority.encryptedKey
                settings.passphrase = "open sesame"
            }
            let rig = try LoopRig()
            let descriptor = Loopback.connect(port)
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            let client = rig.start(descriptor, .client(try TLSContext.client(settings), name: "127.0.0.1"))
            client.with(rig) { $0.write(Array("stressed\n".utf8)) }
            if withCertificate {
                client.wait("the word reversed") { $0.received == Array("desserts\n".utf8) }
            } else {
                let end = client.wait("the end") { $0.end != nil }.end
                guard case .tls(let failure) = end else {
                    Issue.record("\(String(describing: end))")
                    continue
                }
                #expect(failure.detail.contains("certificate required"))
            }
        }
    }
}
