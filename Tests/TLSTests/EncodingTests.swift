// Tests: Crypto.swift, TextEncodings.swift

import TLS
import TestHarness
import Testing

@Suite struct `Base64 text` {
    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `has one text for each sequence of bytes`(bytes: String, text: String) {
        #expect(Base64.encode(Array(bytes.utf8)) == text)
        #expect(Base64.decode(text) == Array(bytes.utf8))
        let bare = String(text.prefix { $0 != "=" })
        #expect(Base64.encodeURL(Array(bytes.utf8)) == bare)
        #expect(Base64.decodeURL(bare) == Array(bytes.utf8))
    }

    @Test func `has two alphabets, which do not mix`() {
        #expect(Base64.encode([0xFB, 0xEF, 0xFF]) == "++//")
        #expect(Base64.encodeURL([0xFB, 0xEF, 0xFF]) == "--__")
        #expect(Base64.decode("--__") == nil)
        #expect(Base64.decodeURL("++//") == nil)
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "=", "==", "====", "Z===", "Zh==", "Zm9=", "Zm8=\n", " Zg==",
        "Zm 9v",
        "Zm9v\r\n", "Zg==Zg==", "Z=g=", "Zm9v\0", "Zm9é", "Z",
    ])
    func `with padding refuses any other text`(text: String) { #expect(Base64.decode(text) == nil) }

    @Test(arguments: ["Zg==", "Zm8=", "Zh", "Zm9", "Z", "Zm9vY", "Zg\n", " Zg", "Z g", "Zg\0", "Zé"])
    func `without padding refuses any other text`(text: String) { #expect(Base64.decodeURL(text) == nil) }

    @Test func `brings back what it was given`() {
        var generator = SeededGenerator(seed: 20)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
        }
    }
}

@Suite struct `Digests and randomness` {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test func `SHA-1 and SHA-256 give the values of FIPS 180`() {
        #expect(hex(Digest.sha1(Array("abc".utf8))) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hex(Digest.sha1([])) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        #expect(
            hex(Digest.sha256(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex(Digest.sha256([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test func `the accept value of RFC 6455 comes out`() {
        let input = Array("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        #expect(Base64.encode(Digest.sha1(input)) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func `secrets are equal or not, whatever their length`() {
        #expect(constantTimeEquals([], []))
        #expect(constantTimeEquals([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEquals([1, 2, 3], [1, 2]))
        #expect(!constantTimeEquals([], [0]))
    }

    @Test func `random bytes have the length asked for and do not repeat`() {
        #expect(Random.bytes(0) == [])
        #expect(Random.bytes(16).count == 16)
        #expect(Random.bytes(16) != Random.bytes(16))
        #expect(Set((0..<100).map { _ in Random.word() }).count > 90)
    }
}
