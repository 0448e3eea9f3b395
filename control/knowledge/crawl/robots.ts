/** Parses robots.txt (RFC 9309). The only importer of robots-parser. Pure. */
import commonJs from 'robots-parser'

/** The package's types declare a default export on the module, but Node gives the function itself. */
const robotsParser = commonJs as unknown as typeof commonJs.default

export const PRODUCT_TOKEN = 'ParleyBot'

export interface Rules {
  allows(url: URL): boolean
  /** Milliseconds between two requests, when the site asks for a delay. */
  delayMs: number | null
  /** Sitemap addresses as written in the file. They may belong to other sites. */
  sitemaps: string[]
}

export const NO_RULES: Rules = { allows: () => true, delayMs: null, sitemaps: [] }

/** Minimum size that a parser must read, RFC 9309 §2.5. */
export const MAX_ROBOTS_BYTES = 500 * 1024
const MAX_SITEMAPS = 10
/** Limit of characters of all patterns with `*`: matching costs their length times the length of the address. */
const MAX_WILD_CHARS = 8192

interface Line {
  name: string
  value: string
}

/** The rules are valid only for addresses of `origin`. */
export function readRules(text: string, origin: string): Rules {
  const lines = readLines(text)
  const parser = robotsParser(`${origin}/robots.txt`, ['User-agent: *', ...bounded(ourGroup(lines))].join('\n'))
  const delay = parser.getCrawlDelay('*')
  return {
    allows: url => parser.isAllowed(url.href, '*') ?? true,
    delayMs: delay !== undefined && delay > 0 ? delay * 1000 : null,
    sitemaps: lines
      .filter(line => line.name === 'sitemap')
      .slice(0, MAX_SITEMAPS)
      .map(line => line.value),
  }
}

function readLines(text: string): Line[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .flatMap(line => {
      const [, name, value] = /^\s*([\w-]+)\s*:([^#]*)/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [{ name: name.toLowerCase(), value: value.trim() }]
    })
}

/**
 * RFC 9309 §2.2.1: returns all groups that name us, or else those for every robot. Only these reach the parser, which
 * copies each rule to each agent of its group: a file with 20,000 agents and as many rules would fill the memory.
 */
function ourGroup(lines: readonly Line[]): Line[] {
  const ours: Line[] = []
  const everybodys: Line[] = []
  let named = false
  let agents = new Set<string>()
  let inRules = false
  for (const line of lines) {
    if (line.name === 'user-agent') {
      if (inRules) agents = new Set()
      inRules = false
      const token = line.value.split('/', 1)[0]!.trim().toLowerCase()
      if (token === PRODUCT_TOKEN.toLowerCase()) named = true
      agents.add(token)
    } else if (line.name === 'allow' || line.name === 'disallow' || line.name === 'crawl-delay') {
      inRules = true
      if (agents.has(PRODUCT_TOKEN.toLowerCase())) ours.push(line)
      if (agents.has('*')) everybodys.push(line)
    }
  }
  return named ? ours : everybodys
}

/** A rule beyond the limit is shortened so that it disallows more than intended, never less. */
function bounded(rules: readonly Line[]): string[] {
  let wild = 0
  return rules.flatMap(({ name, value }) => {
    if (name === 'crawl-delay') return [`${name}: ${value}`]
    const pattern = value.replace(/\*{2,}/g, '*').replace(/(?<=.)\*$/, '')
    if (pattern.includes('*')) {
      wild += pattern.length
      if (wild > MAX_WILD_CHARS) return name === 'allow' ? [] : [`${name}: ${pattern.split('*', 1)[0] || '/'}`]
    }
    return pattern ? [`${name}: ${pattern}`] : []
  })
}
