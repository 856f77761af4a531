// Methods that need no `this`.

/** Binds the methods of an object's class, so that each can be handed on by itself. */
export function bindMethods(object) {
    const members = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object))
    for (const [name, { value }] of Object.entries(members)) {
        if (name === "constructor" || typeof value !== "function") continue
        Object.defineProperty(object, name, { value: value.bind(object), writable: true, configurable: true })
    }
}
