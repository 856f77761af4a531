/// The keys of one issuer, from a file of PEM blocks or a JWKS.
package struct KeySet: Sendable {
    /// A file larger than this is not a key set: the largest that providers publish have some 20 KiB.
    package static let maximumFileBytes = 1 << 20
    /// A file with more keys is refused: a rotation never needs so many.
    package static let maximumKeys = 32

    /// Keys that can verify tokens, in the order of the file.
    package private(set) var keys: [SignatureKey] = []
    /// The problems of the file, as sentences; a warning leaves the keys usable.
    package private(set) var problems: [Problem] = []
    /// Whether the file contains a key that can sign tokens: a secret, or a private key.
    package private(set) var holdsSecret = false

    /// One problem of a file of keys.
    package struct Problem: Hashable, Sendable {
        package let text: String
        package let isWarning: Bool
    }

    /// Reads the text of a file: JWKS if it begins with a brace, PEM otherwise.
    package init(_ text: [UInt8]) {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        if text.first(where: { !blanks.contains($0) }) == UInt8(ascii: "{") {
            readJWKS(text)
        } else {
            readPEM(text)
        }
        if keys.isEmpty, !problems.contains(where: { !$0.isWarning }) {
            refuse(
                "it holds no key that tokens can be verified with: PEM public keys or certificates, or a JWKS, are expected"
            )
        }
        if keys.count > Self.maximumKeys {
            refuse("\(keys.count) keys, over the limit of \(Self.maximumKeys)")
            keys.removeSubrange(Self.maximumKeys...)
        }
        let unnamed = Dictionary(grouping: keys.lazy.filter { $0.name == nil }, by: \.family)
        // Further keys would never be tried.
        if let count = unnamed.values.map(\.count).max(), count > TrustedIssuer.maximumTries {
            refuse(
                "\(count) keys of one kind without a kid, over the limit of \(TrustedIssuer.maximumTries): a token is tried with "
                    + "so many")
        }
    }

    private mutating func readPEM(_ text: [UInt8]) {
        for (index, block) in PEMKeys.read(text, privateHalves: false).enumerated() {
            switch block {
            case .unusable(let why): refuse("PEM block \(index + 1): \(why)")
            case .key(let key, let isPrivate):
                if isPrivate {
                    holdsSecret = true
                    warn(
                        "PEM block \(index + 1) is a private key: the public one is enough to verify, and is no secret")
                }
                add(key, "PEM block \(index + 1)")
            }
        }
    }

    private mutating func readJWKS(_ text: [UInt8]) {
        guard let document = JOSEObject(text), case .list(let entries)? = document["keys"] else {
            return refuse("malformed JWKS: one JSON object with a list \"keys\" and no member twice is expected")
        }
        for (index, entry) in entries.enumerated() {
            let name = "key \(index + 1) of the JWKS"
            guard let members = JOSEObject(entry) else {
                refuse("\(name) is no object, or has a member twice")
                continue
            }
            switch JSONWebKey.read(members) {
            case .key(let key, let isPrivate):
                if isPrivate || key.family == .secret { holdsSecret = true }
                if isPrivate { warn("\(name) is a private key: the public one is enough to verify, and is no secret") }
                add(key, name)
            case .other(let what): warn("\(name) is passed over: \(what)")
            case .malformed(let why): refuse("\(name): \(why)")
            }
        }
    }

    private mutating func add(_ key: SignatureKey, _ name: String) {
        if key.family == .rsa, key.sizeBits < SignatureKey.minimumRSABits {
            refuse("\(name): an RSA key of \(key.sizeBits) bits, at least \(SignatureKey.minimumRSABits) are needed")
        } else if key.family == .rsa, key.sizeBits > SignatureKey.maximumRSABits {
            refuse("\(name): an RSA key of \(key.sizeBits) bits, over the limit of \(SignatureKey.maximumRSABits)")
        } else if let twin = keys.first(where: key.isNamedLike) {
            let kid = String(decoding: twin.name ?? [], as: UTF8.self)
            refuse(
                "\(name): its kid \(kid) is that of another key of its kind: a token that gives it could mean either")
        } else {
            keys.append(key)
        }
    }

    private mutating func refuse(_ text: String) {
        problems.append(Problem(text: text, isWarning: false))
    }

    private mutating func warn(_ text: String) {
        problems.append(Problem(text: text, isWarning: true))
    }
}
