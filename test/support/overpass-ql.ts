/** Parses the subset of Overpass QL that we use; anything else is an error, as in the real interpreter. */

export interface Selected {
  filters: { key: string; value: string | null; regex: RegExp | null }[]
  /** Number of the area; null: everywhere. */
  area: number | null
  /** South, west, north, east. */
  box: [number, number, number, number] | null
}

export interface OverpassScript {
  selections: Selected[]
  most: number
  /** Areas to include in the answer, if they exist. */
  told: number[]
}

export interface OverpassFault {
  error: string
  line: number
}

class ParseError extends Error {}

export function parseOverpass(text: string): OverpassScript | OverpassFault {
  const reader = new Reader(text)
  try {
    return readScript(reader)
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    return { error: error.message, line: reader.line }
  }
}

/** Parses `[out:json]…;`, `area(n)->.name;`, `.name out ids;`, `( nwr…; … );`, `out center tags n;` */
function readScript(reader: Reader): OverpassScript {
  readSettings(reader)
  const areas = new Map<string, number>()
  while (reader.takes('area')) {
    reader.expect('(')
    const id = reader.number()
    reader.expect(')', '->', '.')
    areas.set(reader.word(), id)
    reader.expect(';')
  }
  const told: number[] = []
  while (reader.takes('.')) {
    told.push(areaOf(reader, areas))
    reader.expect('out', 'ids', ';')
  }
  reader.expect('(')
  const selections: Selected[] = []
  while (!reader.takes(')')) selections.push(readSelection(reader, areas))
  reader.expect(';', 'out', 'center', 'tags')
  const most = reader.number()
  reader.expect(';')
  reader.end()
  return { selections, most, told }
}

function areaOf(reader: Reader, areas: ReadonlyMap<string, number>): number {
  const area = areas.get(reader.word())
  if (area === undefined) throw new ParseError('The set is not filled')
  return area
}

function readSettings(reader: Reader): void {
  const seen = new Set<string>()
  while (reader.takes('[')) {
    const name = reader.word()
    reader.expect(':')
    if (name === 'out') reader.expect('json')
    else if (name === 'timeout' || name === 'maxsize') reader.number()
    else throw new ParseError(`Unknown setting "${name}"`)
    if (seen.has(name)) throw new ParseError(`Setting "${name}" twice`)
    seen.add(name)
    reader.expect(']')
  }
  reader.expect(';')
}

function readSelection(reader: Reader, areas: ReadonlyMap<string, number>): Selected {
  reader.expect('nwr')
  const selected: Selected = { filters: [], area: null, box: null }
  while (reader.takes('[')) selected.filters.push(readFilter(reader))
  while (reader.takes('(')) {
    if (reader.takes('area')) {
      reader.expect('.')
      selected.area = areaOf(reader, areas)
    } else {
      const numbers = [reader.number()]
      while (reader.takes(',')) numbers.push(reader.number())
      if (numbers.length !== 4 || numbers[0]! > numbers[2]!) throw new ParseError('A box is south, west, north, east')
      selected.box = numbers as [number, number, number, number]
    }
    reader.expect(')')
  }
  reader.expect(';')
  return selected
}

function readFilter(reader: Reader): Selected['filters'][number] {
  const key = reader.string()
  let value: string | null = null
  let regex: RegExp | null = null
  if (reader.takes('=')) value = reader.string()
  else if (reader.takes('~')) {
    const source = reader.string()
    const anyCase = reader.takes(',')
    if (anyCase) reader.expect('i')
    try {
      regex = new RegExp(source, anyCase ? 'iu' : 'u')
    } catch {
      throw new ParseError(`Invalid regular expression: "${source}"`)
    }
  }
  reader.expect(']')
  return { key, value, regex }
}

const TOKEN = /\s*(?:("(?:[^"\\\n]|\\.)*")|(-?\d+(?:\.\d+)?)|([a-z_]\w*)|(->|[[\](){}:;,.=~<!-]))/iy

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get line(): number {
    return this.#text.slice(0, this.#at).split('\n').length
  }

  #peek(): { text: string; kind: 'string' | 'number' | 'word' | 'sign'; end: number } | null {
    TOKEN.lastIndex = this.#at
    const match = TOKEN.exec(this.#text)
    if (!match) {
      if (this.#text.slice(this.#at).trim() === '') return null
      throw new ParseError(`Unknown token near "${this.#text.slice(this.#at, this.#at + 20)}"`)
    }
    const kind =
      match[1] !== undefined ? 'string' : match[2] !== undefined ? 'number' : match[3] !== undefined ? 'word' : 'sign'
    return { text: match[1] ?? match[2] ?? match[3] ?? match[4]!, kind, end: TOKEN.lastIndex }
  }

  takes(text: string): boolean {
    const next = this.#peek()
    if (next?.text !== text || next.kind === 'string') return false
    this.#at = next.end
    return true
  }

  expect(...texts: string[]): void {
    for (const text of texts)
      if (!this.takes(text)) throw new ParseError(`'${text}' expected - '${this.#peek()?.text}' found`)
  }

  #take(kind: 'string' | 'number' | 'word'): string {
    const next = this.#peek()
    if (next?.kind !== kind) throw new ParseError(`${kind} expected - '${next?.text}' found`)
    this.#at = next.end
    return next.text
  }

  string(): string {
    return this.#take('string').slice(1, -1).replace(/\\(.)/g, '$1')
  }
  number(): number {
    return Number(this.#take('number'))
  }
  word(): string {
    return this.#take('word')
  }
  end(): void {
    if (this.#peek()) throw new ParseError(`Unexpected '${this.#peek()!.text}'`)
  }
}
