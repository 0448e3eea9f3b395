/** The system's Chromium, with a file as microphone. It takes a second to start. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findChromium, findHeadlessShell } from '../../infra/setup/prepare.ts'

/** Null: page tests are skipped, as `npm test` has reported. */
export const chromiumPath = findChromium()

/** A silent microphone. */
export const NO_MICROPHONE = '/dev/null'

export interface TestBrowser {
  /** Opens a page in its own profile. */
  open(url: string, options?: BrowserContextOptions): Promise<TestPage>
  close(): Promise<void>
}

export interface TestPage {
  page: Page
  /** Console errors, exceptions and failed requests. */
  complaints: string[]
  /** URLs of all requests. */
  requests: string[]
  close(): Promise<void>
}

/**
 * `microphone` is a WAV file, played once from when the microphone is opened. Pages may use it when their context has
 * the permission `microphone`, and are refused otherwise.
 */
export async function openBrowser({ microphone }: { microphone: string }): Promise<TestBrowser> {
  const shared = microphone === NO_MICROPHONE
  const browser = await (shared ? sharedBrowser() : launch(microphone))
  return {
    async open(url, options = {}) {
      // A click waits until its target stands still.
      const usual: BrowserContextOptions = { locale: 'en-US', permissions: ['microphone'], reducedMotion: 'reduce' }
      const context = await browser.newContext({ ...usual, ...options })
      const page = await context.newPage()
      const complaints: string[] = []
      const requests: string[] = []
      page.on('console', message => {
        if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
      })
      page.on('pageerror', error => complaints.push(String(error)))
      page.on('requestfailed', request => {
        const why = request.failure()?.errorText
        // The page aborted the request itself, for example by navigating away.
        if (why !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${why}`)
      })
      page.on('request', request => requests.push(request.url()))
      page.on('websocket', socket => requests.push(socket.url()))
      await page.goto(url)
      return { page, complaints, requests, close: () => context.close() }
    },
    close: async () => {
      if (!shared) await browser.close()
    },
  }
}

let silent: Promise<Browser> | null = null

/** One for all files of a worker; it ends with the worker. */
async function sharedBrowser(): Promise<Browser> {
  silent ??= launch(NO_MICROPHONE)
  if (!(await silent).isConnected()) silent = launch(NO_MICROPHONE)
  return silent
}

function launch(microphone: string): Promise<Browser> {
  if (chromiumPath === null) throw new Error('Chromium is not here: run `npm test` once')
  return chromium.launch({
    executablePath: (microphone === NO_MICROPHONE ? findHeadlessShell() : null) ?? chromiumPath,
    args: [
      '--no-sandbox', // it refuses to run as root with one
      '--allow-loopback-in-peer-connection', // a machine without a network has no other address
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${microphone}%noloop`,
    ],
  })
}
