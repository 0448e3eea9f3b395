/** Rules of docs/testing.md for the three projects: the project of a test follows from its name. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = import.meta.dirname
const tests = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.test.ts'))
const unit = tests.filter(name => !name.endsWith('.integration.test.ts') && !/^(?:e2e|interop)\//.test(name))

/** Type imports are left out: they load nothing. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found = text.matchAll(/^\s*(?:import|export)\s(?!type\s)[^'"]*?from\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)
  return [...found]
    .map(match => relative(root, resolve(root, dirname(file), match[1] ?? match[2]!)))
    .filter(target => !target.startsWith('..'))
}

/** The file and everything below test/ that it imports, at any depth. */
function reachedFrom(file: string): string[] {
  const reached = new Set([file])
  for (const one of reached) for (const next of importsOf(one)) reached.add(next)
  return [...reached]
}

const SERVERS = /inject\('(?:databaseUrl|redisUrl)'\)/

describe('a unit test', () => {
  it('is most of them', () => {
    expect(unit.length).toBeGreaterThan(150)
  })

  // That it starts no process is held by support/unit-guard.ts while it runs.
  it('reaches neither Postgres nor Redis', () => {
    const wrong = unit.flatMap(file =>
      reachedFrom(file)
        .filter(reached => reached !== 'projects.test.ts' && SERVERS.test(readFileSync(join(root, reached), 'utf8')))
        .map(reached => `${file} by ${reached}`),
    )
    expect(wrong).toEqual([])
  })
})

it('a test file is named by what it tests', () => {
  expect(tests.filter(name => /review|hostile|bad-input/.test(name))).toEqual([])
})
