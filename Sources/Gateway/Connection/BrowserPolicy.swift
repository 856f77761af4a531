import GatewaySettings
import HTTP
import Tokens

/// Which origins and cookies, sent by browsers by themselves, are accepted.
struct BrowserPolicy: Sendable {
    let crossOrigin: CrossOrigin
    /// The cookie that may hold a token; nil: none.
    private let cookieName: String?

    /// Without arguments, `Origin` is ignored, and no cookie counts.
    ///
    /// - Precondition: a cookie only with origins (`check` refuses it without).
    init(origins: [OriginPattern] = [], cookie: String? = nil) {
        precondition(cookie == nil || !origins.isEmpty, "a cookie without origins: any page could connect with it")
        crossOrigin = CrossOrigin(origins, allowsCredentials: cookie != nil)
        cookieName = cookie
    }

    /// The cookie, and whether it counts. It counts if a listed page asks. It also counts in a GET whose field shows that a page
    /// of this same origin asks; to such a GET the browser adds no `Origin`. A page can set neither field (Fetch Standard §2.2.2:
    /// forbidden request-headers). A browser adds `Origin` to every other method but HEAD (§3.2), so a request without it is no
    /// browser's.
    func cookie(_ head: RequestHead, _ caller: CrossOrigin.Caller) -> Credential.Cookie? {
        guard let cookieName else { return nil }
        return switch caller {
        case .listed: Credential.Cookie(cookieName, mayBeUsed: true)
        case .refused: Credential.Cookie(cookieName, mayBeUsed: false)
        case .noOrigin: Credential.Cookie(cookieName, mayBeUsed: head.method == "GET" && isOfThisOrigin(head))
        }
    }

    private func isOfThisOrigin(_ head: RequestHead) -> Bool {
        head.headers.only("sec-fetch-site")?.elementsEqual("same-origin".utf8) ?? false
    }

    /// The fields of every answer to a request.
    func fields(_ head: RequestHead) -> CrossOrigin.Fields { crossOrigin.fields(crossOrigin.caller(head.headers)) }
}

extension BrowserPolicy {
    init(_ auth: SettingValues<AuthTable>) { self.init(origins: auth.origins, cookie: auth.cookie) }
}
