/**
 * `npm start -- --demo-only` as an ordinary user who has Node, npm, Python, git and coreutils, and cannot become root.
 */
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, inject, it } from 'vitest'
import { cacheFolder } from '../../infra/config/config.ts'
import { fetchRedis } from '../../infra/embedded/redis-server.ts'
import { checkout, createNewcomer, entriesOf, type Newcomer, reachable, shareFolder } from '../support/newcomer.ts'

let newcomer: Newcomer | undefined
afterEach(() => newcomer?.remove())

const DEMO = ['npm', 'start', '--', '--demo-only']
const PORTS = { HTTP_PORT: '18480', SIP_PORT: '15460' }
const MINUTES = 60_000

const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
/** Otherwise the start would install into the packages of this checkout. */
const mark = join(checkout, 'node_modules', '.parley-installed')
const installed =
  existsSync(mark) && readFileSync(mark, 'utf8') === sha256(join(checkout, 'package-lock.json')) && reachable(mark)

function expectSpokenCall({ code, output }: { code: number | null; output: string }, home: string): void {
  expect([code, output]).toEqual([0, expect.stringContaining('webhook    call.completed received, signature verified')])
  expect(output).toMatch(/^ *[\d.]+s +agent +Hello, this is the automatic assistant/m)
  // Files on the disk are readable by the owner only.
  const open = [home, ...entriesOf(home)].filter(
    file => !lstatSync(file).isSymbolicLink() && (lstatSync(file).mode & 0o077) !== 0,
  )
  expect(open).toEqual([])
}

it.runIf(inject('full'))(
  'places the spoken call without packages or downloads',
  { timeout: 40 * MINUTES },
  async () => {
    newcomer = createNewcomer()
    const result = await newcomer.run(DEMO, PORTS)
    expectSpokenCall(result, join(newcomer.folder, 'home/parley/.parley'))
    expect(result.output).toMatch(/^· Installing packages and Node \(about \d+ MB, once\) … \d+ s$/m)
    for (const step of ['Redis', 'speech models'])
      expect(result.output).toMatch(new RegExp(`^· Downloading ${step} .* \\d+ s$`, 'm'))
  },
)

it.skipIf(!installed)(
  'places the spoken call with packages and downloads present',
  { timeout: 6 * MINUTES },
  async ({ skip }) => {
    const problem = await fetchRedis(cacheFolder()).then(
      () => null,
      error => (error as Error).message,
    )
    if (problem !== null) skip(`Redis is not in the cache: ${problem}`)
    newcomer = createNewcomer()
    const home = join(newcomer.folder, 'home')
    const own = join(home, 'parley')
    symlinkSync(join(checkout, 'node_modules'), join(own, 'node_modules'))
    shareFolder(join(checkout, 'control/dashboard/dist'), join(own, 'control/dashboard/dist'))
    shareFolder(cacheFolder(), join(newcomer.folder, 'cache'), name => /^(?:models|embedding|redis)-\d/.test(name))
    const result = await newcomer.run(DEMO, { ...PORTS, PARLEY_CACHE: join(newcomer.folder, 'cache') })
    expectSpokenCall(result, join(own, '.parley'))
    expect(result.output).not.toMatch(/Downloading|Installing packages/)
  },
)
