// Tests: PEMFile.swift, TLSError.swift

import Glibc
import TLS
import Testing

@Suite struct `A TLS context` {
    private let authority = Authority.shared

    @Test func `is made from a chain and its key, ECDSA or RSA`() throws {
        let ecdsa = try TLSContext.server(certificate: authority.chain, key: authority.key)
        #expect(ecdsa.certificate?.commonName == "ecdsa")
        let rsa = try TLSContext.server(certificate: authority.rsaChain, key: authority.rsaKey)
        #expect(rsa.certificate?.commonName == "rsa")
    }

    @Test func `names the file that cannot be read`() {
        #expect(throws: TLSError.unreadable(path: "/nowhere/chain.pem", cause: "No such file or directory")) {
            try TLSContext.server(certificate: "/nowhere/chain.pem", key: authority.key)
        }
        #expect(throws: TLSError.unreadable(path: "/nowhere/key.pem", cause: "No such file or directory")) {
            try TLSContext.server(certificate: authority.chain, key: "/nowhere/key.pem")
        }
        #expect(throws: TLSError.unreadable(path: "/", cause: "Is a directory")) {
            try TLSContext.server(certificate: "/", key: authority.key)
        }
        #expect(throws: TLSError.tooLong(path: "/dev/zero", limit: 1 << 20)) {
            try TLSContext.server(certificate: "/dev/zero", key: authority.key)
        }
    }

    @Test func `refuses a key that belongs to another certificate, of the same kind or not`() {
        for key in [authority.rsaKey, authority.expiredKey] {
            #expect(throws: TLSError.keyDoesNotFit(key: key, certificate: authority.chain)) {
                try TLSContext.server(certificate: authority.chain, key: key)
            }
        }
    }

    @Test func `tells a file without a certificate from one without a key and from a broken one`() throws {
        #expect(throws: TLSError.noCertificate(path: authority.key)) {
            try TLSContext.server(certificate: authority.key, key: authority.key)
        }
        #expect(throws: TLSError.noPrivateKey(path: authority.chain)) {
            try TLSContext.server(certificate: authority.chain, key: authority.chain)
        }
        let empty = authority.freshPath()
        Command.write("", to: empty)
        #expect(throws: TLSError.noCertificate(path: empty)) {
            try TLSContext.server(certificate: empty, key: authority.key)
        }
        let broken = authority.freshPath()
        Command.write("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", to: broken)
        let error = #expect(throws: TLSError.self) { try TLSContext.server(certificate: broken, key: authority.key) }
        guard case .malformed(broken, _) = error else {
            Issue.record("expected a broken file, not \(String(describing: error))")
            return
        }
    }

    @Test func `refuses keys that are too weak`() {
        let error = #expect(throws: TLSError.self) {
            try TLSContext.server(certificate: authority.weak, key: authority.weakKey)
        }
        #expect(error == .refused(path: authority.weak, cause: "ee key too small"))
    }

    @Test func `opens encrypted keys with their passphrase only, and never asks on the terminal`() throws {
        for key in [authority.encryptedKey, authority.encryptedTraditionalKey] {
            _ = try TLSContext.server(certificate: authority.chain, key: key, passphrase: "open sesame")
            #expect(throws: TLSError.passphraseNeeded(path: key)) {
                try TLSContext.server(certificate: authority.chain, key: key)
            }
            for wrong in ["open", ""] {
                #expect(throws: TLSError.passphraseWrong(path: key)) {
                    try TLSContext.server(certificate: authority.chain, key: key, passphrase: wrong)
                }
            }
        }
        _ = try TLSContext.server(certificate: authority.chain, key: authority.key, passphrase: "not needed")
    }

    @Test func `tells how long its certificate is valid`() throws {
        let now = Int64(time(nil))
        let current = try #require(
            try TLSContext.server(certificate: authority.chain, key: authority.key).certificate)
        #expect(!current.isExpired(at: now) && !current.isNotYetValid(at: now))
        #expect(current.notAfter - current.notBefore == 2 * 86400)
        #expect(!current.isExpired(at: current.notAfter) && current.isExpired(at: current.notAfter + 1))
        #expect(current.isNotYetValid(at: current.notBefore - 1))
        // An expired certificate is loaded all the same: serving it is for the operator to judge.
        let old = try TLSContext.server(certificate: authority.expired, key: authority.expiredKey)
        #expect(try #require(old.certificate).isExpired(at: now))
    }

    @Test func `of a client names the authorities' file when it is missing or empty`() {
        #expect(throws: TLSError.unreadable(path: "/nowhere/ca.pem", cause: "No such file or directory")) {
            try TLSContext.client(TLSClientSettings(authorities: "/nowhere/ca.pem"))
        }
        #expect(throws: TLSError.noCertificate(path: authority.key)) {
            try TLSContext.client(TLSClientSettings(authorities: authority.key))
        }
    }

    @Test func `of a client with the system's authorities is made`() throws {
        _ = try TLSContext.client()
    }
}
