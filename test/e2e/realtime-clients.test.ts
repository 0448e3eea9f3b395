/** The real agent in a real LiveKit room, with independent clients: the Python package, and a page in Chromium. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { demoLines } from '../../infra/demo/script.ts'
import { findPackages, LIVEKIT_CLIENT, withPackages } from '../../infra/tools/python.ts'
import { concatPcm } from '../../media/audio/frames.ts'
import { decodeWav, encodeWav } from '../../media/audio/wav.ts'
import { chromiumPath, openBrowser } from '../support/chromium.ts'
import { livekitBinary } from '../support/livekit.ts'
import { expectSettled, expectWebhook, LETTER_ERRORS } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { newestEnded, openSession, type RoomStack, startRoomStack } from '../support/stack-rooms.ts'
import { letterErrors } from '../support/stack-speech.ts'

const GREETING = 'Good evening, this is the Blue Heron.'
const { file, text: WISH } = demoLines[0]!
const SPEECH = join(import.meta.dirname, '../../infra/demo/voice', file)
/** Longer than it takes to join and to be greeted. */
const LEAD_MS = 9000
const python = await findPackages(readConfig().cache, LIVEKIT_CLIENT)

let stack: RoomStack
beforeAll(async () => {
  if (!livekitBinary) return
  stack = await startRoomStack()
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
}, 300_000)
afterAll(() => stack?.stop())

const bookTable = () => ({
  name: 'book_table',
  description: 'Book a table at the restaurant',
  method: 'POST' as const,
  url: `${stack.world.url}/book`,
  parameters: {
    type: 'object',
    properties: {
      people: { type: 'integer', description: 'How many people' },
      date: { type: 'string', format: 'date', description: 'Which day' },
      time: { type: 'string', format: 'time', description: 'What time' },
      name: { type: 'string', description: 'Name for the reservation' },
    },
    required: ['people', 'date', 'time', 'name'],
  },
})

const newOwner = (): Promise<Owner> =>
  stack.owner({
    trunk: { port: 5999 },
    webhook: `${stack.world.url}/hook`,
    project: { greeting: GREETING, tools: [bookTable()] },
  })

/** One turn each: the wish was understood, and the agent asks for what is missing. */
async function expectDialogue(owner: Owner): Promise<void> {
  const call = await newestEnded(stack, owner, 1)
  expect(call).toMatchObject({ direction: 'web', status: 'completed', ended_reason: 'caller_hangup' })
  expect(call.transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'agent'])
  expect(letterErrors(WISH, call.transcript[1]!.text)).toBeLessThanOrEqual(LETTER_ERRORS)
  expect(call.transcript[2]!.heard_text).toMatch(/name/i)
  await expectWebhook(stack, owner, call.id, 'call.completed')
  await expectSettled(stack, owner)
}

it.skipIf(!livekitBinary || python === null)(
  'the Python client is greeted, understood and answered',
  {
    timeout: 120_000,
  },
  async () => {
    const owner = await newOwner()
    const { url, token } = await openSession(owner)
    const answer = join(stack.folder, 'answer.wav')
    const script = join(import.meta.dirname, '../../examples/realtime/python/talk.py')
    const child = spawn('python3', ['-s', script, SPEECH, answer], {
      env: { ...withPackages(python!), PARLEY_ROOM_URL: url, PARLEY_ROOM_TOKEN: token },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    stack.keep(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (output += String(part)))
    const [code] = (await once(child, 'close')) as [number]
    expect(code, output).toBe(0)
    expect(output).toContain(`agent: ${GREETING}`)
    expect(output).toMatch(/^you: .*table/m)
    for (const state of ['listening', 'thinking', 'speaking']) expect(output).toContain(`(${state})`)
    expect(decodeWav(readFileSync(answer)).pcm.some(sample => Math.abs(sample) > 1000)).toBe(true)
    await expectDialogue(owner)
  },
)

it.skipIf(!livekitBinary || chromiumPath === null || !inject('full'))(
  'a page with a microphone holds a dialogue and shows its transcript',
  {
    timeout: 120_000,
  },
  async () => {
    const owner = await newOwner()
    const { url, token } = await openSession(owner)
    const { pcm, sampleRate, channels } = decodeWav(readFileSync(SPEECH))
    const microphone = join(stack.folder, 'microphone.wav')
    const lead = new Int16Array((LEAD_MS * sampleRate * channels) / 1000)
    writeFileSync(microphone, encodeWav({ sampleRate, channels, pcm: concatPcm([lead, pcm]) }))
    const browser = await openBrowser({ microphone })
    stack.onStop(() => browser.close())
    const { page, complaints } = await browser.open(`${stack.baseUrl}/talk#${new URLSearchParams({ url, token })}`)
    const lines = page.getByRole('log').locator('.talk-line')
    const shown = (nth: number) => lines.nth(nth).textContent({ timeout: 120_000 })
    await page.getByRole('button', { name: 'Start call', exact: true }).click()
    await expect.poll(() => shown(0), { timeout: 180_000 }).toBe(`Agent${GREETING}`)
    await expect.poll(() => shown(1), { timeout: 120_000 }).toMatch(/^You.*table.*seven/)
    await expect.poll(() => shown(2), { timeout: 180_000 }).toMatch(/^Agent.*name.*\?$/i)
    await expect.poll(() => page.getByRole('status').textContent(), { timeout: 180_000 }).toBe('Listening')
    if (process.env['PARLEY_SCREENSHOTS'])
      await page.screenshot({ path: join(process.env['PARLEY_SCREENSHOTS'], 'talk.png') })
    await page.getByRole('button', { name: 'Hang up', exact: true }).click()
    await expectDialogue(owner)
    expect(complaints).toEqual([])
    await browser.close()
  },
)
