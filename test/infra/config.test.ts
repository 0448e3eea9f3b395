/** Secrets from files, as containers get them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, readConfig, SECRETS, SETTINGS } from '../../infra/config/config.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-config-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const read = (env: NodeJS.ProcessEnv) => readConfig({ PARLEY_HOME: join(folder, 'home'), ...env })
const refusal = (env: NodeJS.ProcessEnv): string => {
  try {
    read(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('it was taken')
}

/** A valid value of each variable. */
const VALUES: Partial<Record<string, string>> = {
  DATABASE_URL: 'postgres://parley:word@db/parley',
  REDIS_URL: 'redis://:word@redis:6379/0',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20word',
  SMTP_URL: 'smtp://parley:word@mail.example.com:587',
}
/** Variables that others require. */
const BESIDE: Partial<Record<string, Record<string, string>>> = { SMTP_URL: { MAIL_FROM: 'parley@example.com' } }
/** Parsed values that are not strings. */
const READ: Partial<Record<string, unknown>> = {
  SMTP_URL: { host: 'mail.example.com', port: 587, tls: false, login: { user: 'parley', password: 'word' } },
}
const sampleOf = (name: string) => VALUES[name] ?? `${name}-of-sixteen-and-more`

describe('a secret from a file', () => {
  it.each(SECRETS)('sets %s, without the trailing newline', name => {
    const config = read({ ...BESIDE[name], [`${name}_FILE`]: file(name, `${sampleOf(name)}\n`) })
    expect(config[name]).toEqual(READ[name] ?? sampleOf(name))
  })

  it('is used for sealing', () => {
    expect(read({ PARLEY_SECRET_FILE: file('seal', 'a secret of the house\r\n') }).secret).toBe('a secret of the house')
  })

  it('is ignored where its variable is set to nothing', () => {
    expect(read({ REDIS_URL: sampleOf('REDIS_URL'), REDIS_URL_FILE: '' }).REDIS_URL).toBe(sampleOf('REDIS_URL'))
  })

  it('may equal its variable, but not differ', () => {
    const at = file('both', 'sixteen letters and more')
    expect(read({ PARLEY_SECRET: 'sixteen letters and more', PARLEY_SECRET_FILE: at }).secret).toHaveLength(24)
    const said = refusal({ PARLEY_SECRET: 'another secret altogether', PARLEY_SECRET_FILE: at })
    expect(said).toBe('PARLEY_SECRET differs from the content of PARLEY_SECRET_FILE. Set only one of them')
  })

  it('must exist and not be empty', () => {
    expect(refusal({ LLM_API_KEY_FILE: join(folder, 'nowhere') })).toMatch(/^LLM_API_KEY_FILE: cannot read .*ENOENT/)
    expect(refusal({ LLM_API_KEY_FILE: folder })).toMatch(/EISDIR/)
    expect(refusal({ LLM_API_KEY_FILE: file('empty', ' \n') })).toMatch(/is empty$/)
  })

  it('is validated as its variable, and never shown', () => {
    const said = refusal({ REDIS_URL_FILE: file('wrong', 'http://user:hidden@host/') })
    expect(said).toContain('REDIS_URL')
    expect(said).not.toContain('hidden')
    expect(refusal({ PARLEY_SECRET_FILE: file('short', 'hidden') })).not.toContain('hidden')
  })

  it('is known as a setting', () => {
    expect(SETTINGS).toContain('REDIS_URL_FILE')
    expect(SETTINGS).not.toContain('REDIS_PREFIX_FILE')
    expect(new Set(SETTINGS).size).toBe(SETTINGS.length)
  })
})
