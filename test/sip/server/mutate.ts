/** Damages real messages: changes random bytes and lines, by a seeded generator. */
export type Random = (below: number) => number

/** xorshift32: the same numbers for the same seed, on every machine. */
export function randomFrom(seed: number): Random {
  let state = seed | 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return Math.floor(((state >>> 0) / 2 ** 32) * below)
  }
}

const NASTY = [
  '\0',
  '\r\n',
  '\r\n ',
  '\r\n\r\n',
  '"',
  '<',
  '>',
  ';',
  ',',
  ':',
  '@',
  '%',
  '[',
  ']',
  '::',
  '\xff',
  '=',
  '/',
  ' ',
]
const NUMBERS = ['0', '-1', '65536', '4294967296', '99999999999999999999', '1e9', '0x10', '']

type Mutation = (text: string, random: Random, other: string) => string

function atPlace(text: string, random: Random, put: string, drop: number): string {
  const at = random(text.length + 1)
  return text.slice(0, at) + put + text.slice(at + drop)
}

function onLines(text: string, change: (lines: string[]) => void): string {
  const lines = text.split('\r\n')
  change(lines)
  return lines.join('\r\n')
}

const MUTATIONS: readonly Mutation[] = [
  (text, random) => atPlace(text, random, String.fromCharCode(random(256)), 1),
  (text, random) => atPlace(text, random, NASTY[random(NASTY.length)]!, random(2)),
  (text, random) => atPlace(text, random, '', random(40)),
  (text, random) => atPlace(text, random, text.slice(random(text.length)).slice(0, random(200)), 0),
  (text, random) => atPlace(text, random, 'a'.repeat(random(3000)), 0),
  (text, random) => text.slice(0, random(text.length)),
  (text, random, other) => text.slice(0, random(text.length)) + other.slice(random(other.length)),
  (text, random) => text.replace(/\d+/g, number => (random(8) === 0 ? NUMBERS[random(NUMBERS.length)]! : number)),
  (text, random) => onLines(text, lines => lines.splice(random(lines.length), 1)),
  (text, random) => onLines(text, lines => lines.splice(random(lines.length), 0, lines[random(lines.length)]!)),
  (text, random) => onLines(text, lines => lines.unshift(...lines.splice(random(lines.length), 1))),
  (text, random, other) =>
    onLines(text, lines => {
      const strange = other.split('\r\n')
      lines[random(lines.length)] = strange[random(strange.length)]!
    }),
]

let serial = 0

/** One of `corpus`, with up to four wounds; mostly under a branch of its own, so that it is no mere repeat. */
export function mutated(corpus: readonly string[], random: Random): Buffer {
  let text = corpus[random(corpus.length)]!
  serial += 1
  if (random(4) !== 0) text = text.replace(/branch=[^;,\s]*/, `branch=z9hG4bK${serial.toString(36)}`)
  return wounded(text, random, corpus)
}

/** Up to four wounds, some of them with pieces of others. */
export function wounded(whole: string, random: Random, others: readonly string[]): Buffer {
  let text = whole
  for (let wounds = random(5); wounds > 0; wounds--) {
    text = MUTATIONS[random(MUTATIONS.length)]!(text, random, others[random(others.length)]!)
  }
  return Buffer.from(text.slice(0, 60_000), 'latin1')
}
