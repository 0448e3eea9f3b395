/** The system's Chromium, with a microphone that hears a file. It takes a second to start. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findChromium } from '../../infra/setup/prepare.ts'

/** Null: the tests of pages are skipped; `npm test` has told so. */
export const chromiumPath = findChromium()

/** A microphone that hears nothing. */
export const NO_MICROPHONE = '/dev/null'

export interface TestBrowser {
  /** In a profile of its own. */
  open(url: string, options?: BrowserContextOptions): Promise<TestPage>
  close(): Promise<void>
}

export interface TestPage {
  page: Page
  /** What went wrong in it: errors of the console, exceptions, requests that failed. */
  complaints: string[]
  /** Addresses of all that was asked for. */
  requests: string[]
  close(): Promise<void>
}

/**
 * `microphone`: a WAV, heard once from the moment on that the microphone is opened. Pages may use it when their context
 * has the permission `microphone`, and are refused otherwise.
 */
export async function openBrowser({ microphone }: { microphone: string }): Promise<TestBrowser> {
  const shared = microphone === NO_MICROPHONE
  const browser = await (shared ? sharedBrowser() : launch(microphone))
  return {
    async open(url, options = {}) {
      const context = await browser.newContext({ locale: 'en-US', permissions: ['microphone'], ...options })
      const page = await context.newPage()
      const complaints: string[] = []
      const requests: string[] = []
      page.on('console', message => {
        if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
      })
      page.on('pageerror', error => complaints.push(String(error)))
      page.on('requestfailed', request => {
        const why = request.failure()?.errorText
        // The page itself let go of it: who leaves a page waits for none of its answers.
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
    executablePath: chromiumPath,
    args: [
      '--no-sandbox', // it refuses to run as root with one
      '--allow-loopback-in-peer-connection', // a machine without a network has no other address
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${microphone}%noloop`,
    ],
  })
}
