import HTTP
import LiveClientReactor
import Options
import TLS

extension CatSettings {
    mutating func setProxy(_ arguments: Arguments) throws(StartProblem) {
        guard let text = arguments[LivecatCommand.proxy] else { return }
        do throws(URLFault) {
            connection.proxy = try ProxyServer(text)
        } catch {
            throw .wrongUse("option '--proxy': \(error.explanation.printable)")
        }
        if case .unix = connection.url.destination { throw .wrongUse("--proxy and a Unix socket exclude one another") }
    }

    /// Makes a TLS context if it may be needed: for wss, after a redirect, and if its files are named. So a file that cannot be
    /// read is reported at once.
    mutating func setTLS(_ arguments: Arguments, _ askPassphrase: () -> String?) throws(StartProblem) {
        let table = LivecatCommand.self
        var tls = TLSClientSettings(
            authorities: arguments[table.authority], verifies: !arguments[table.noCheck],
            certificate: arguments[table.certificate], key: arguments[table.key])
        if tls.key != nil && tls.certificate == nil { throw .wrongUse("--key needs --cert") }
        let isNeeded =
            connection.url.isSecure || connection.proxy?.isSecure == true || maximumRedirects != nil
            || tls.authorities != nil || tls.certificate != nil
        switch arguments[table.passphrase] {
        case .none: break
        case .some(let word?): tls.passphrase = word
        case .some(nil):
            guard let word = askPassphrase() else {
                throw .wrongUse("option '--passphrase': there is no terminal to ask for it")
            }
            tls.passphrase = word
        }
        guard isNeeded else { return }
        do throws(TLSError) {
            connection.tls = try TLSContext.client(tls)
            guard tls.certificate != nil, maximumRedirects != nil else { return }
            connection.tlsElsewhere = try TLSContext.client(
                TLSClientSettings(authorities: tls.authorities, verifies: tls.verifies))
        } catch {
            throw .unreadable("\(error)".printable)
        }
    }

    /// Finds the errors that would otherwise show only when the request is made.
    func check() throws(StartProblem) {
        var seen: Set<String> = []
        for name in connection.protocols + credentials.protocols {
            guard ClientRequest.isToken(name) else {
                throw .wrongUse("option '--subprotocol': '\(name.withoutToken.printable)' is not a token")
            }
            guard seen.insert(name).inserted else {
                throw .wrongUse("option '--subprotocol': duplicate value '\(name.withoutToken)'")
            }
        }
        for (name, value) in connection.headers + credentials.headers + [("Host", credentials.host ?? "")] {
            do throws(RequestFault) {
                try ClientRequest.check(name: name, value: value)
            } catch {
                throw .wrongUse(error.explanation.printable)
            }
        }
    }
}

extension Duration {
    /// Whole milliseconds; options have no smaller unit.
    var milliseconds: UInt64 { UInt64(self / .milliseconds(1)) }
}

extension String {
    /// A subprotocol in the form that people may see.
    var withoutToken: String {
        OriginCredentials.isCredential(protocolNamed: self) ? OriginCredentials.protocolPrefix + "…" : self
    }

    /// Without blanks and tabs at both ends.
    var trimmingBlanks: String {
        var text = Substring(self)
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
