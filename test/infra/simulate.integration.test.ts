import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { judge, junit, type Result, type SimulationResult } from '../../infra/simulate/judge.ts'
import { parseScenario } from '../../infra/simulate/scenario.ts'
import { runText } from '../../infra/simulate/text.ts'
import { FetchError } from '../../media/shared/fetch.ts'
import { quietLog } from '../support/world.ts'

const examples = new URL('../../examples/scenarios/', import.meta.url)
const main = fileURLToPath(new URL('../../infra/simulate/main.ts', import.meta.url))
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-simulate-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const simulate = (...args: string[]) =>
  new Promise<{ code: number; out: string; err: string }>(resolve => {
    execFile(process.execPath, [main, ...args], { timeout: 180_000 }, (error, out, err) =>
      resolve({ code: error ? (error.code as number) : 0, out, err }),
    )
  })
const fetch = () => Promise.reject(new FetchError('network', 'no network in this test'))

describe('the shipped scenarios', () => {
  const texts = readdirSync(examples).filter(
    name => /^mode: audio/m.test(readFileSync(new URL(name, examples), 'utf8')) === false,
  )
  it.each(texts)('%s has the expected outcome, deterministically', async name => {
    const scenario = parseScenario(name, readFileSync(new URL(name, examples), 'utf8'))
    const run = () => runText(scenario, { fetch, log: quietLog, env: {} })
    const [first, second] = [await run(), await run()]
    expect(judge(scenario.expect, first, scenario.today)).toEqual([])
    expect(second.turns).toEqual(first.turns)
  })
})

describe('the command', () => {
  const write = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }
  const hello = (said: string) =>
    `name: Greets\nagent:\n  greeting: Good morning.\ncaller:\n  - say: Goodbye.\nexpect:\n  said: ${said}\n`

  it('reports failed expectations with the transcript, and exits with 1', async () => {
    const [good, bad] = [write('good.yaml', hello('good morning')), write('bad.yaml', hello('/pizza|pasta/'))]
    const report = join(folder, 'report.xml')
    const { code, out } = await simulate(good, bad, '--junit', report)
    expect(code).toBe(1)
    expect(out).toMatch(
      /ok {3}Greets[\s\S]*FAIL Greets[\s\S]*did not say: \/pizza\|pasta\/[\s\S]*agent: Good morning\./,
    )
    expect(out).toContain('1 of 2 scenarios passed')
    const xml = readFileSync(report, 'utf8')
    expect(xml).toContain('tests="2" failures="1"')
    expect(xml.match(/<testcase /g)).toHaveLength(2)
  }, 180_000)

  it.each([
    ['no YAML', 'name: [', /:1: /],
    ['an unknown field', 'name: x\ncaller:\n  - say: hi\nexpekt: {}\n', /: the scenario: .*expekt/],
    ['a wrong step', 'name: x\ncaller:\n  - say: hi\n  - shout: hi\n', /:4: \/caller\/1/],
    [
      'a wrong tool',
      'name: x\nagent:\n  tools:\n    - name: a b\ncaller:\n  - say: hi\n',
      /:4: \/agent\/tools\/0\/name/,
    ],
  ])('reports the position of %s, and exits with 2', async (_, text, message) => {
    const { code, err } = await simulate(write('broken.yaml', text))
    expect(code).toBe(2)
    expect(err).toMatch(message)
  })

  it('reports a missing file', async () => {
    expect(await simulate(join(folder, 'none.yaml'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('none.yaml'),
    })
  })
})

describe('expectations', () => {
  const turn = (role: 'agent' | 'caller', text: string, heard_text = text) => ({
    role,
    text,
    heard_text,
    started_ms: 0,
    ended_ms: 1000,
    interrupted: false,
  })
  const outcome: SimulationResult = {
    turns: [turn('agent', 'Your table & chair is booked.', 'Your table'), turn('caller', 'For <four>.')],
    tools: [
      {
        name: 'book',
        arguments: { n: 4, day: 'Friday' },
        started_ms: 0,
        ms: 10,
        status: 'ok',
        http_status: 200,
        result: '',
        filler: [],
      },
    ],
    ended: 'caller_hangup',
    p95Ms: 700,
    goalReached: false,
    extracted: { n: 4 },
    bargeIns: 1,
  }
  const wants = (part: object) =>
    judge({ tools: [], said: [], not_said: [], understood: [], ...part } as never, outcome, '2026-11-21').length
  it.each([
    [{ said: ['table'] }, 0],
    [{ said: ['booked'] }, 1], // generated, but not heard
    [{ not_said: ['booked'] }, 0],
    [{ understood: ['four'] }, 0],
    [{ tools: [{ name: 'book', arguments: { n: 4 } }] }, 0],
    [{ tools: [{ name: 'book', arguments: { n: 5 } }] }, 1],
    [{ tools: [{ name: 'book', times: 0 }] }, 1],
    [{ tools: [{ name: 'other', times: 0 }] }, 0],
    [{ ended: 'caller_hangup', goal_reached: false, extracted: { n: 4 }, latency_p95_ms: 700, barge_ins: 1 }, 0],
    [{ ended: 'agent_hangup', goal_reached: true, extracted: { n: 5 }, latency_p95_ms: 699, barge_ins: 0 }, 5],
  ])('finds for %o this number of failures: %i', (part, faults) => expect(wants(part)).toBe(faults))

  it('writes valid JUnit XML for any text', () => {
    const results: Result[] = [
      { name: 'a "b" <c>', file: 'x.yaml', mode: 'text', seconds: 1.5, outcome, failures: ['no & never\0'] },
    ]
    const xml = junit(results)
    expect(xml).not.toMatch(/<four>|& /)
    expect(xml).not.toContain('\0')
    expect(xml).toContain('&#60;four&#62;')
  })
})
