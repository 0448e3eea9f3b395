/** Documents are read in separate processes: one that exceeds its limits ends its process and nothing else. */
import { type ChildProcess, spawn } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type DocumentKind, type Extractor, SliceSpent } from '../../../../control/knowledge/documents/types.ts'
import { OwnerUsage } from '../../../../control/platform/jobs/fair-turns.ts'
import { systemClock } from '../../../../infra/adapters/clock.ts'
import { createExtractor, type ExtractorOptions } from '../../../../infra/adapters/extractor.ts'
import { documentXml, makeDocx, paragraph } from './make-docx.ts'
import { makePageBomb, makePdf } from './make-pdf.ts'

// Workers give way to everybody else, and may wait long for a core.
vi.setConfig({ testTimeout: 100_000 })

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-extractor-'))
})
afterAll(() => rm(folder, { recursive: true }))

const never = new AbortController().signal
const MB = 1024 * 1024
const workers: ChildProcess[] = []
subscribe('child_process', message => workers.push((message as { process: ChildProcess }).process))
const running = () => workers.filter(worker => worker.exitCode === null && worker.signalCode === null).length

function alive(pid: number): boolean {
  try {
    // A process that its parent has not waited for is a zombie: it has exited but is still listed.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

async function withExtractor(options: Partial<ExtractorOptions>, use: (extractor: Extractor) => Promise<void>) {
  const extractor = createExtractor({ timeMs: 90_000, ...options })
  try {
    await use(extractor)
  } finally {
    await extractor.close()
  }
  expect(running()).toBe(0)
}

async function onDisk(kind: DocumentKind, content: Buffer | string) {
  const file = join(folder, `document.${kind}`)
  await writeFile(file, content)
  return { kind, file }
}

const page = (html: string) => ({
  kind: 'html' as const,
  url: 'https://x.example/',
  charset: null,
  body: Buffer.from(html),
})
const codeOf = (reading: Promise<unknown>) =>
  reading.then(
    () => 'read',
    error => error.code,
  )

describe('a document', () => {
  it('extracts every file type that needs a library', async () => {
    await withExtractor({}, async extractor => {
      const pdf = await onDisk('pdf', makePdf([[{ text: 'Открыто', y: 700 }]], { title: 'Часы' }))
      expect(await extractor.extract(pdf, never)).toEqual({
        url: null,
        title: 'Часы',
        html: null,
        blocks: [{ heading: 0, text: 'Открыто' }],
      })
      const docx = await onDisk('docx', makeDocx(documentXml(paragraph('Every day'))))
      expect((await extractor.extract(docx, never)).blocks).toEqual([{ heading: 0, text: 'Every day' }])
      expect(await extractor.extract(page('<title>T</title><p>Hi <a href="/a">there</a>'), never)).toEqual({
        url: 'https://x.example/',
        title: 'T',
        blocks: [{ heading: 0, text: 'Hi there' }],
        html: { links: ['https://x.example/a'], canonical: null, refresh: null, noindex: false, nofollow: false },
      })
    })
  })

  it('returns 5 MB in one line', async () => {
    await withExtractor({}, async extractor => {
      const text = 'слово '.repeat(436_900).trim()
      const { blocks } = await extractor.extract(await onDisk('txt', text), never)
      expect(blocks).toHaveLength(1)
      expect(blocks[0]!.text === text).toBe(true)
    })
  })

  it('reports why it cannot be read', async () => {
    await withExtractor({}, async extractor => {
      const locked = await onDisk('pdf', makePdf([[{ text: 'x', y: 700 }]], { password: 'secret' }))
      await expect(extractor.extract(locked, never)).rejects.toMatchObject({
        name: 'KnowledgeError',
        code: 'encrypted',
        message: 'The PDF is protected by a password.',
      })
      await expect(extractor.extract(await onDisk('pdf', ''), never)).rejects.toMatchObject({ code: 'empty' })
      await expect(extractor.extract({ kind: 'txt', file: join(folder, 'gone') }, never)).rejects.toMatchObject({
        code: 'ENOENT',
      })
    })
  })
})

describe('a hostile document', () => {
  const bomb = deflateSync(Buffer.alloc(200 * MB), { level: 1 })

  it('kills a process that exceeds its memory, and reads the next document', async () => {
    await withExtractor({ memoryBytes: 200 * MB }, async extractor => {
      const pdf = await onDisk('pdf', makePdf([[]], { deflated: bomb }))
      await expect(extractor.extract(pdf, never)).rejects.toMatchObject({ name: 'KnowledgeError', code: 'too_complex' })
      const wide = page(`<body>${'<i></i>'.repeat(450_000)}</body>`)
      expect(await codeOf(extractor.extract(wide, never))).toBe('too_complex')
      expect((await extractor.extract(page('<p>still here'), never)).blocks).toHaveLength(1)
    })
  })

  it('fails on unbounded XML nesting', async () => {
    const deep = documentXml(`${'<w:sdt><w:sdtContent>'.repeat(20_000)}${'</w:sdtContent></w:sdt>'.repeat(20_000)}`)
    await withExtractor({}, async extractor => {
      expect(await codeOf(extractor.extract(await onDisk('docx', makeDocx(deep)), never))).toMatch(
        /^(?:too_complex|damaged|no_text)$/,
      )
    })
  })

  it('times out', async () => {
    await withExtractor({ timeMs: 5 }, async extractor => {
      await expect(extractor.extract(page('<p>x'), never)).rejects.toMatchObject({
        name: 'KnowledgeError',
        code: 'timeout',
      })
      expect(running()).toBe(0)
    })
  })
})

describe('long work', () => {
  it('is not read in a first slice, which takes a second or two of CPU time', async () => {
    await withExtractor({}, async extractor => {
      const pdf = await onDisk('pdf', makePageBomb())
      await expect(extractor.extract(pdf, never, { owner: 'a', part: 'first' })).rejects.toBeInstanceOf(SliceSpent)
      const small = await extractor.extract(page('<p>x'), never, { owner: 'a', part: 'first' })
      expect(small.blocks).toHaveLength(1)
    })
  })

  it('lets other owners read meanwhile, and ends at once when it is given up', async () => {
    await withExtractor({ atOnce: 1 }, async extractor => {
      const pdf = await onDisk('pdf', makePageBomb())
      const stop = new AbortController()
      const long = ['a', 'b', 'c'].map(owner => extractor.extract(pdf, stop.signal, { owner, part: 'rest' }))
      const ends = Promise.allSettled(long)
      await vi.waitFor(() => expect(running()).toBe(1))
      for (const owner of ['d', 'e']) {
        expect((await extractor.extract(page(`<p>${owner}`), never, { owner })).blocks[0]!.text).toBe(owner)
      }
      stop.abort(new Error('deleted'))
      expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
      await vi.waitFor(() => expect(running()).toBe(0), { timeout: 2000 })
    })
  })

  it('is charged to its owner, whose next document comes after those of others', async () => {
    const usage = new OwnerUsage(systemClock)
    await withExtractor({ atOnce: 1, usage }, async extractor => {
      const pdf = await onDisk('pdf', makePageBomb())
      await extractor.extract(pdf, never, { owner: 'a', part: 'first' }).catch(() => {})
      expect(usage.of('a')).toBeGreaterThan(1000)
      const order: string[] = []
      const read = (owner: string) =>
        extractor.extract(page(`<p>${owner}`), never, { owner }).then(() => void order.push(owner))
      await Promise.all([read('z'), read('a'), read('b')])
      expect(order).toEqual(['z', 'b', 'a'])
    })
  })
})

describe('reading', () => {
  it('can be aborted, also while queued', async () => {
    await withExtractor({ atOnce: 1 }, async extractor => {
      const stop = new AbortController()
      const first = extractor.extract(page('<p>x'), stop.signal)
      const second = extractor.extract(page('<p>y'), stop.signal)
      const third = extractor.extract(page('<p>z'), never)
      stop.abort(new Error('deleted'))
      await expect(first).rejects.toThrow('deleted')
      await expect(second).rejects.toThrow('deleted')
      expect((await third).blocks).toEqual([{ heading: 0, text: 'z' }])
    })
  })

  it('starts at most its number of processes', async () => {
    await withExtractor({ atOnce: 2 }, async extractor => {
      let most = 0
      const look = setInterval(() => (most = Math.max(most, running())), 1)
      const found = await Promise.all([1, 2, 3, 4].map(n => extractor.extract(page(`<p>${n}`), never)))
      clearInterval(look)
      expect(found.map(({ blocks }) => blocks[0]!.text)).toEqual(['1', '2', '3', '4'])
      expect(most).toBe(2)
    })
  })

  it.skipIf(process.platform !== 'linux')('stops when its parent dies', async () => {
    const parent = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'orphan.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const worker = Number(line)
    expect(alive(worker)).toBe(true)
    parent.kill('SIGKILL')
    await vi.waitFor(() => expect(alive(worker)).toBe(false), { timeout: 180_000, interval: 50 })
  })

  it('stops when the extractor closes', async () => {
    const extractor = createExtractor({ atOnce: 1 })
    const all = [1, 2].map(n => extractor.extract(page(`<p>${n}`), never))
    const ends = Promise.allSettled(all)
    await extractor.close()
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(running()).toBe(0)
    await expect(extractor.extract(page('<p>late'), never)).rejects.toThrow('closed')
  })
})
