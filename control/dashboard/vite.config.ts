/** How the page is built. `/dashboard` is where control serves it; the nonce is put in at each visit, see routes.ts. */
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
    // What it would inline as data: is forbidden by our policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  // `npx vite --config control/dashboard/vite.config.ts` beside a running control, for work on the page.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/auth': 'http://127.0.0.1:8080' } },
})
