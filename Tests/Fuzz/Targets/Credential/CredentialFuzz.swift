import FuzzSupport
import HTTP
import LiveUpdates
import Tokens

private let verifier = TokenVerifier(issuers: [], anonymous: Account("A"))
private let origins: CrossOrigin = {
    guard let one = try? OriginPattern("https://app.example.com"), let all = try? OriginPattern("https://*.example.org")
    else { fatalError("no origins") }
    return CrossOrigin([one, all], allowsCredentials: true)
}()

/// A request: its origin, its cookies, and the one credential that it carries.
private func checkRequest(_ input: [UInt8]) {
    var parser = RequestParser()
    guard case .head(let head, _) = parser.consume((input + Array("\r\n\r\n".utf8)).span) else { return }
    let caller = origins.caller(head.headers)
    if case .listed(let origin) = caller {
        require(head.headers.all("origin").count == 1, "one origin is listed")
        let rest = origin.dropFirst("https://".count)
        require(origin == "https://app.example.com" || rest.hasSuffix(".example.org"), "only listed hosts are listed")
        let isHost = rest.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "-_.".utf8.contains($0)
        }
        require(isHost, "what stands before the name is labels")
        let isNamed = origins.fields(caller).contains { $0.0 == "Access-Control-Allow-Origin" && $0.1 == origin }
        require(isNamed, "the answer names the origin")
    }
    let protocols = head.headers.list("sec-websocket-protocol").map(Array.init)
    let cookie = Credential.Cookie("session", mayBeUsed: caller != .refused && caller != .noOrigin)
    do throws(Refusal) {
        let credential = try Credential.read(head, protocols: protocols, protocolName: "livegate.v1", cookie: cookie)
        if case .token = credential {
            let isOther = head.headers.contains("authorization") || !protocols.isEmpty
            require(isOther || caller != .refused && caller != .noOrigin, "a cookie counts only from a listed page")
        }
    } catch {
        require([400, 401, 403].contains(error.status), "a refusal of a credential")
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    checkRequest(input)
    let sent = SentToken(input)
    if let sent, case .taken = TokenRenewal.decide(sent, account: Account("A"), verifier: verifier, now: 0) {
        require(false, "nobody signed this")
    }
    return 0
}
