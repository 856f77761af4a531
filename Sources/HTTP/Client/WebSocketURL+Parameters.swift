extension WebSocketURL {
    /// The same address with these parameters, each in place of those of its name; the others stay as they were
    /// written, in their order.
    package func setting(_ parameters: [(name: String, value: String)]) -> WebSocketURL {
        guard !parameters.isEmpty else { return self }
        let bytes = Array(target.utf8)
        let mark = bytes.firstIndex(of: ASCII.questionMark) ?? bytes.endIndex
        let kept = bytes[mark...].dropFirst().split(separator: 0x26).filter { piece in
            let name = PercentEncoding.decoded(piece.prefix { $0 != 0x3D })
            return !parameters.contains { name?.elementsEqual($0.name.utf8) == true }
        }
        let added = parameters.map { Array("\($0.name)=".utf8) + PercentEncoding.encoded(Array($0.value.utf8)) }
        let query = (kept.map(Array.init) + added).joined(separator: [0x26])
        return replacing(target: String(decoding: bytes[..<mark] + [ASCII.questionMark] + query, as: UTF8.self))
    }

    /// What the address says about a parameter.
    package func parameter(_ name: String) -> QueryParameters.Value {
        guard let mark = target.utf8.firstIndex(of: ASCII.questionMark) else { return .absent }
        return QueryParameters(String(target[target.utf8.index(after: mark)...]))[name]
    }

    /// The same address with another ending of its path, where the path ends so.
    package func replacing(pathSuffix old: String, with new: String) -> WebSocketURL {
        let path = target.utf8.prefix { $0 != ASCII.questionMark }
        guard path.count >= old.utf8.count, path.suffix(old.utf8.count).elementsEqual(old.utf8) else { return self }
        let before = String(decoding: path.dropLast(old.utf8.count), as: UTF8.self)
        return replacing(target: before + new + String(decoding: target.utf8.dropFirst(path.count), as: UTF8.self))
    }

    private func replacing(target: String) -> WebSocketURL {
        WebSocketURL(isSecure: isSecure, place: place, target: target, userInformation: userInformation)
    }
}

extension PercentEncoding {
    /// RFC 3986 §2.3: unreserved characters stay, and the comma of our lists, which a query may hold.
    static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return bytes.flatMap { byte in
            let stays = byte.isLetter || byte.isDigit || "-._~,".utf8.contains(byte)
            return stays ? [byte] : [ASCII.percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
}
