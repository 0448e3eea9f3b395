/** Build of the page. Control serves it at `/dashboard` and inserts a nonce into each response (routes.ts). */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { NONCE_PLACE } from './policy.ts'

export default defineConfig({
  root: new URL('page', import.meta.url).pathname,
  base: '/dashboard/',
  plugins: [react()],
  html: { cspNonce: NONCE_PLACE },
  build: {
    outDir: new URL('dist', import.meta.url).pathname,
    emptyOutDir: true,
    // Our policy forbids `data:` URLs, which Vite would otherwise inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  // For development: run `npx vite --config control/dashboard/vite.config.ts` next to a running control.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/auth': 'http://127.0.0.1:8080' } },
})
