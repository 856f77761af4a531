// One connection for all tabs of a browser: `connect({ share: allTabs, … })`.

export { allTabs } from "./shell/tabs.js"
