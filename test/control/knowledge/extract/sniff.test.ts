/** Accepted and rejected uploads, by content and by size, with an error code for each rejection. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sniff } from '../../../../control/knowledge/extract/sniff.ts'
import { documentXml, makeDocx, paragraph } from './make-docx.ts'
import { makePdf } from './make-pdf.ts'
import { makeZip } from './make-zip.ts'

let folder: string
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-sniff-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function sniffed(name: string, content: Buffer | string, mediaType: string | null = null) {
  const file = join(folder, String(count++))
  await writeFile(file, content)
  const found = await sniff({ name, mediaType, file })
  return found.ok ? found.kind : found.code
}

const pdf = makePdf([[{ text: 'Prices', y: 700 }]])
const docx = makeDocx(documentXml(paragraph('Prices')))
const png = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010806000000', 'hex')
const MB = 1024 * 1024

describe('content', () => {
  it.each([
    ['prices.pdf', pdf, 'pdf'],
    ['ЦЕНЫ.PDF', pdf, 'pdf'],
    ['prices', pdf, 'pdf'],
    ['scanner.pdf', Buffer.concat([Buffer.from('\x1b%-12345X@PJL\r\n'), pdf]), 'pdf'],
    ['prices.docx', docx, 'docx'],
    ['prices', docx, 'docx'],
    ['notes.txt', 'We are open.', 'txt'],
    ['BMW.txt', 'BMW service: 500 a wash', 'txt'],
    ['readme.md', 'no heading here', 'md'],
    ['prices.csv', 'a;b\n1;2', 'csv'],
    ['prices.tsv', 'a\tb\n1\t2', 'csv'],
    ['faq.json', '{"a": 1}', 'json'],
    ['lines.jsonl', '{"a": 1}\n{"a": 2}', 'json'],
    ['page.htm', '<p>hi', 'html'],
    ['page.html', '<!-- x --><!DOCTYPE html><html><body>hi', 'html'],
    ['x.xhtml', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>', 'html'],
  ])('detects %s by name and content', async (name, content, kind) => {
    expect(await sniffed(name, content)).toBe(kind)
  })

  it('detects the kind of text when the name is missing or wrong', async () => {
    expect(await sniffed('page.txt', '\n<!doctype html><html><body>hi</body></html>')).toBe('html')
    expect(await sniffed('data.txt', '[{"a": 1}]')).toBe('json')
    expect(await sniffed('page.html', 'no tags at all')).toBe('txt')
    expect(await sniffed('Прайс от 12.05', '# Prices\n\nA wash is 500.')).toBe('md')
    expect(await sniffed('prices', 'name,price,time\nwash,5,20\nwax,7,30\nall,9,60\n')).toBe('csv')
    expect(await sniffed('prices', 'one,two', 'text/csv; charset=utf-8')).toBe('csv')
    expect(await sniffed('notes', 'Well, this is prose, with commas.\nAnd more, of it.')).toBe('txt')
  })

  it('is text in any encoding', async () => {
    expect(await sniffed('notes.txt', Buffer.from('\ufeffОткрыто', 'utf16le'))).toBe('txt')
    expect(await sniffed('notes.txt', Buffer.from('cff0e8e2e5f22c20ece8f020e820e4f0f3e7fcff', 'hex'))).toBe('txt')
    expect(await sniffed('notes.txt', Buffer.from('Café à côté', 'latin1'))).toBe('txt')
  })
})

describe('rejected', () => {
  it.each([
    ['a PDF named .txt', 'prices.txt', pdf, 'content_mismatch'],
    ['a PDF after an empty line, named .md', 'prices.md', Buffer.concat([Buffer.from('\n'), pdf]), 'content_mismatch'],
    ['a PDF named .docx', 'prices.docx', pdf, 'content_mismatch'],
    ['a DOCX named .pdf', 'prices.pdf', docx, 'content_mismatch'],
    ['a picture named .txt', 'prices.txt', png, 'content_mismatch'],
    ['a picture', 'prices.png', png, 'unsupported_type'],
    ['a picture without a name', 'prices', png, 'unsupported_type'],
    ['text named .pdf', 'prices.pdf', 'just text', 'content_mismatch'],
    ['prose named .json', 'prices.json', 'once upon a time', 'content_mismatch'],
    ['a program, even if it is text', 'run.exe', 'hello', 'unsupported_type'],
    ['rich text named .txt', 'a.txt', '{\\rtf1\\ansi hello}', 'content_mismatch'],
    ['XML that is no page', 'a.html', '<?xml version="1.0"?><urlset></urlset>', 'content_mismatch'],
    ['nothing', 'a.pdf', '', 'empty'],
    ['spaces', 'a.txt', ' \n\t \r\n', 'empty'],
    ['a mark alone', 'a.txt', '\ufeff', 'empty'],
    ['a zip', 'a.docx', makeZip([{ name: 'a.txt', data: 'x' }]), 'content_mismatch'],
    ['a zip in a zip', 'a.docx', makeZip([{ name: 'in.zip', data: docx }]), 'content_mismatch'],
    ['the beginning of a DOCX', 'a.docx', docx.subarray(0, docx.length / 2), 'content_mismatch'],
  ])('%s', async (_what, name, content, code) => {
    expect(await sniffed(name, content)).toBe(code)
  })

  it('rejects binary data named .txt, and NUL in text', async () => {
    const noise = Buffer.concat(Array.from({ length: 160 }, (_, i) => createHash('sha256').update(String(i)).digest()))
    expect(await sniffed('a.txt', noise)).toBe('content_mismatch')
    expect(await sniffed('a.csv', Buffer.from(noise.map(byte => byte || 1)))).toBe('content_mismatch')
    expect(await sniffed('a.txt', 'abc\0def')).toBe('content_mismatch')
  })

  it('an office document with a password, which is a compound file, and an old one', async () => {
    const compound = (entry: string) => {
      const file = Buffer.alloc(4096)
      Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(file)
      file.writeUInt16LE(9, 30)
      file.writeUInt32LE(1, 48)
      file.write(entry, 1024, 'utf16le')
      return file
    }
    expect(await sniffed('a.docx', compound('EncryptedPackage'))).toBe('encrypted')
    expect(await sniffed('a.docx', compound('WordDocument'))).toBe('content_mismatch')
    expect(await sniffed('a.doc', compound('WordDocument'))).toBe('unsupported_type')
  })

  it('rejects files above the limit of their type', async () => {
    expect(await sniffed('a.txt', 'x'.repeat(5 * MB))).toBe('txt')
    expect(await sniffed('a.txt', 'x'.repeat(5 * MB + 1))).toBe('too_large')
    const file = join(folder, 'large.pdf')
    await writeFile(file, pdf)
    await truncate(file, 20 * MB)
    expect(await sniff({ name: 'a.pdf', mediaType: null, file })).toEqual({ ok: true, kind: 'pdf' })
    await truncate(file, 20 * MB + 1)
    expect(await sniff({ name: 'a.pdf', mediaType: null, file })).toMatchObject({ ok: false, code: 'too_large' })
  })

  it('describes each rejection in one sentence', async () => {
    const file = join(folder, 'a.txt')
    await writeFile(file, pdf)
    const found = await sniff({ name: 'prices.txt', mediaType: 'text/plain', file })
    expect(found).toEqual({
      ok: false,
      code: 'content_mismatch',
      message: 'The name ends in .txt, but the content is PDF.',
    })
  })
})
