import FuzzSupport
import Tokens

/// What an issuer's server may answer: a set is refused, or each of its keys can verify something.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    for algorithms in [SignatureAlgorithm.asymmetric, SignatureAlgorithm.allCases] {
        guard let keys = try? FetchedKeySet.read(input, algorithms: algorithms) else { continue }
        require((1...FetchedKeySet.maximumKeys).contains(keys.count), "the limit on keys holds, and none is none")
        for key in keys {
            require(algorithms.contains { key.fits($0) }, "each key fits an algorithm of the issuer")
            require(
                key.family != .rsa
                    || (SignatureKey.minimumRSABits...SignatureKey.maximumRSABits).contains(key.sizeBits),
                "RSA keys have a usable size")
        }
    }
    return 0
}
