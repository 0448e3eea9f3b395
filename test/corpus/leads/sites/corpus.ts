/** Company sites with labels made by people, see README.md. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface CorpusSite {
  host: string
  country: string
  charset: string
  name: string
  /** E.164, the main one first. */
  phones: string[]
  emails: string[]
  signals: { signal: string; present: boolean }[]
  /** By path. */
  pages: Map<string, { html: string } | { status: number; location: string }>
}

export const SPLITS = ['train', 'test'] as const
export type Split = (typeof SPLITS)[number]

export function readSites(split: Split): CorpusSite[] {
  const text = readFileSync(join(import.meta.dirname, `${split}.txt`), 'utf8')
  return text
    .split(/^@@ /m)
    .slice(1)
    .map(section => readOne(section))
}

function readOne(section: string): CorpusSite {
  const [head, ...pages] = section.split(/^=> /m)
  const [first, ...lines] = head!.trim().split('\n')
  const [host, country, ...options] = first!.split(' ')
  const value = (name: string) =>
    lines
      .find(line => line.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim() ?? ''
  return {
    host: host!,
    country: country!,
    charset: options.find(option => option.startsWith('charset='))?.slice(8) ?? 'utf-8',
    name: value('name'),
    phones: value('phones').split(' ').filter(Boolean),
    emails: value('emails').split(' ').filter(Boolean),
    signals: lines
      .filter(line => /^[+-] /.test(line))
      .map(line => ({ signal: line.slice(2), present: line.startsWith('+') })),
    pages: new Map(pages.map(readPage)),
  }
}

function readPage(text: string): [string, CorpusSite['pages'] extends Map<string, infer P> ? P : never] {
  const at = text.indexOf('\n')
  const [path, status, location] = text.slice(0, at).trim().split(' ')
  if (status && location) return [path!, { status: Number(status), location }]
  return [path!, { html: repeated(text.slice(at + 1)) }]
}

/** `{{1..3|<li>{n}</li>}}` */
const repeated = (html: string) =>
  html.replace(/\{\{(\d+)\.\.(\d+)\|(.*?)\}\}/gs, (_, from, to, item) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, step) =>
      item.replaceAll('{n}', String(Number(from) + step)),
    ).join('\n'),
  )
