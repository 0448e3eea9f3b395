/**
 * Dialogs lock the page's scrolling by a style element of react-remove-scroll, which our policy lets past with the nonce
 * alone. It asks get-nonce, and that reads this name, which bundlers have for it. Imported once, before anything is shown.
 */
import { nonce } from './nonce.ts'

declare global {
  var __webpack_nonce__: string | undefined
}

globalThis.__webpack_nonce__ = nonce()
