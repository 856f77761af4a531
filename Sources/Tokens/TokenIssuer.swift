import LiveUpdates

/// Makes tokens like an identity provider, for development and tests: the output of `livegate token`.
package struct TokenIssuer: Sendable {
    /// The content of a token.
    package struct Request: Sendable {
        package var account: String
        package var accountClaim: String
        package var issuer: String?
        package var audience: String?
        package var subject: String?
        package var keyName: String?
        /// Seconds from now until the token expires, at least 1.
        package var lifetimeSeconds: Int64

        package init(
            account: String, accountClaim: String = "account_id", issuer: String? = nil, audience: String? = nil,
            subject: String? = nil, keyName: String? = nil, lifetimeSeconds: Int64 = 3600
        ) {
            self.account = account
            self.accountClaim = accountClaim
            self.issuer = issuer
            self.audience = audience
            self.subject = subject
            self.keyName = keyName
            self.lifetimeSeconds = lifetimeSeconds
        }

        /// Why a verifier would refuse the token with any key, as the end of a sentence about the option. `nil` if there is no
        /// problem.
        package var problem: (option: String, text: String)? {
            if !TokenClaims.isPlain(Array(account.utf8), maximumBytes: Account.maximumBytes) {
                return ("account", "is not 1 to \(Account.maximumBytes) bytes without control characters")
            }
            if accountClaim.isEmpty { return ("claim", "is not the name of a claim") }
            if ["iss", "aud", "sub", "exp", "nbf", "iat"].contains(accountClaim),
                accountClaim != "sub" || subject != nil
            {
                return ("claim", "is already used by another claim of the token")
            }
            if let keyName, !KeyName.isUsable(Array(keyName.utf8)) {
                return (
                    "kid", "is not 1 to \(KeyName.maximumBytes) printable characters without blanks, quotes and '..'"
                )
            }
            return nil
        }
    }

    /// The file has no private key, or none that can sign tokens.
    package struct KeyProblem: Error, Hashable, Sendable {
        package let path: String
        package let reason: String
    }

    /// The algorithm that signs the tokens.
    package let algorithm: SignatureAlgorithm
    private let key: SignatureKey

    /// Reads the first private key of a PEM text.
    ///
    /// - Parameters:
    ///   - path: the file of the text, for the problem.
    ///   - algorithm: one that fits the key; `nil` for the usual one of its kind: RS256, ES256, ES384 or ES512.
    package init(pem text: [UInt8], path: String, algorithm: SignatureAlgorithm? = nil) throws(KeyProblem) {
        var reason = "it holds no private key in PEM"
        var found: SignatureKey?
        for block in PEMKeys.read(text, privateHalves: true) where found == nil {
            switch block {
            case .key(let key, isPrivate: true): found = key
            case .key(_, isPrivate: false): reason = "it holds a public key: the private one is needed to sign"
            case .unusable(let why): reason = why
            }
        }
        guard let key = found else { throw KeyProblem(path: path, reason: reason) }
        if key.family == .rsa, !(SignatureKey.minimumRSABits...SignatureKey.maximumRSABits).contains(key.sizeBits) {
            throw KeyProblem(
                path: path,
                reason:
                    "an RSA key of \(key.sizeBits) bits, not \(SignatureKey.minimumRSABits) to \(SignatureKey.maximumRSABits)"
            )
        }
        let usual: SignatureAlgorithm =
            switch key.family {
            case .rsa: .rs256
            case .ellipticCurve(.p256): .es256
            case .ellipticCurve(.p384): .es384
            case .ellipticCurve(.p521): .es512
            case .secret: .hs256
            }
        self.algorithm = algorithm ?? usual
        guard key.fits(self.algorithm) else {
            throw KeyProblem(
                path: path, reason: "the key does not fit \(self.algorithm.rawValue): it is one for \(usual.rawValue)")
        }
        self.key = key
    }

    /// A token that is valid from `now`, in seconds since 1970. The request must have no ``Request/problem``.
    package func token(_ request: Request, now: Int64) -> String {
        precondition(request.problem == nil && request.lifetimeSeconds > 0, "a token that no verifier would accept")
        var claims: [UInt8] = []
        func add(_ name: String, text: String?) {
            guard let text else { return }
            addName(name)
            WireMessage.appendString(text, to: &claims)
        }
        func addName(_ name: String) {
            claims.append(UInt8(ascii: claims.isEmpty ? "{" : ","))
            WireMessage.appendString(name, to: &claims)
            claims.append(UInt8(ascii: ":"))
        }
        add("iss", text: request.issuer)
        add("aud", text: request.audience)
        add("sub", text: request.subject)
        add(request.accountClaim, text: request.account)
        for (name, second) in [("iat", now), ("exp", now + request.lifetimeSeconds)] {
            addName(name)
            claims.append(contentsOf: String(second).utf8)
        }
        claims.append(UInt8(ascii: "}"))
        guard let token = key.sign(claims, algorithm: algorithm, keyName: request.keyName) else {
            preconditionFailure("a private key that fits its algorithm does not sign")
        }
        return token
    }
}
