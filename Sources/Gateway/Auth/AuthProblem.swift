/// Something in the settings of `auth`, or in a file that they name, that an operator should mend.
package struct AuthProblem: Error, Hashable, Sendable {
    /// The key in the settings, such as `auth.jwt[0].keys`.
    package let setting: String
    /// The file that the setting names, if the problem lies in one.
    package let file: String?
    /// What is wrong and what would be right.
    package let text: String
    /// Whether things work all the same.
    package let isWarning: Bool

    package init(setting: String, file: String? = nil, text: String, isWarning: Bool = false) {
        self.setting = setting
        self.file = file
        self.text = text
        self.isWarning = isWarning
    }
}
