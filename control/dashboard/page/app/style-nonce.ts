/**
 * Sets the nonce for the style element that react-remove-scroll adds when a dialog locks scrolling. It reads the nonce
 * through get-nonce, which uses this webpack global. Import once, before the first render.
 */
import { nonce } from '../ui/nonce.ts'

declare global {
  var __webpack_nonce__: string | undefined
}

globalThis.__webpack_nonce__ = nonce()
