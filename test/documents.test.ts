/**
 * The documents: relative links and named files exist, the indexes are complete, README and ARCHITECTURE respect their
 * length limits.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const withoutCode = (text: string) => text.replaceAll(/^\s*```[\s\S]*?^\s*```$/gm, '')

const documents = globSync('**/*.md', {
  cwd: root,
  exclude: name => /^(?:node_modules|\.parley|\.git|coverage)(?:\/|$)/.test(name),
})

/** Documents about the source tree, without corpora, which others have written. */
const OWN = documents.filter(file => !file.startsWith('test/corpus/'))

/** As GitHub makes anchors of headings. */
const anchorsOf = (text: string) =>
  new Set(
    [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[`*]|\[|\]\([^)]*\)/g, '')
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )

describe('the documents', () => {
  it.each(documents)('%s has no broken relative link', file => {
    const text = withoutCode(read(file))
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1]!)
    const broken = targets.filter(target => {
      if (/^[a-z]+:/.test(target)) return false
      const [path = '', anchor] = target.split('#')
      const full = path === '' ? join(root, file) : join(root, dirname(file), path)
      if (!existsSync(full)) return true
      return anchor !== undefined && full.endsWith('.md') && !anchorsOf(readFileSync(full, 'utf8')).has(anchor)
    })
    expect(broken).toEqual([])
  })

  it.each(OWN)('%s names only files that exist', file => {
    const text = withoutCode(read(file))
    const paths = [...text.matchAll(/`((?:control|docs|examples|infra|media|sip|test)\/[\w./-]*\.(?:[a-z]{2,4}))`/g)]
    expect(paths.map(match => match[1]!).filter(path => !existsSync(join(root, path)))).toEqual([])
  })

  it.each([
    ['README.md', 1500],
    ['ARCHITECTURE.md', 2000],
  ])('%s has at most %i words', (file, most) => {
    expect(read(file).trim().split(/\s+/).length).toBeLessThanOrEqual(most)
  })

  it('of docs/ are in its index, as are all decisions in theirs', () => {
    const index = read('docs/README.md')
    const guides = documents.filter(file => /^docs\/[\w-]+\.md$/.test(file) && file !== 'docs/README.md')
    expect(guides.filter(file => !index.includes(`(${file.slice('docs/'.length)})`))).toEqual([])
    const decisions = read('docs/decisions/README.md')
    const pages = documents.filter(file => /^docs\/decisions\/\d{4}-/.test(file))
    expect(pages.filter(file => !decisions.includes(`(${file.slice('docs/decisions/'.length)})`))).toEqual([])
    for (const page of pages)
      expect(read(page), page).toMatch(/^# [\s\S]*^## Context$[\s\S]*^## Decision$[\s\S]*^## Consequence/m)
  })
})
