/**
 * Builds PDF 1.4 byte by byte: positioned lines of Helvetica, Russian by a custom encoding, RC4 encryption if
 * requested.
 */
import { createHash } from 'node:crypto'

export interface TextLine {
  text: string
  size?: number
  x?: number
  y: number
}

export interface PdfOptions {
  title?: string
  /** Standard security handler, revision 2 (PDF 32000, §7.6.3): both passwords. */
  password?: string
  /** Bytes that no page shows, as pictures are. */
  ballast?: number
  /** Deflated content of the last page: a decompression bomb. */
  deflated?: Buffer
}

/** Cyrillic on the codes of cp1251, with a map back to Unicode as real writers put it in. */
const CYRILLIC = [...'АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя']
/** In the font's own encoding, as most writers have it; PDF.js drops one that a map calls U+00AD. */
const SOFT_HYPHEN = '\u00ad'
const codeOf = (character: string) => {
  if (character === SOFT_HYPHEN) return 0xad
  const at = CYRILLIC.indexOf(character)
  return at < 0 ? character.charCodeAt(0) & 0x7f : 0xc0 + at
}
const encode = (text: string) => Buffer.from([...text].map(codeOf))
const hex = (bytes: Uint8Array) => `<${Buffer.from(bytes).toString('hex')}>`

const TO_UNICODE = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00> <ff> endcodespacerange
2 beginbfrange <20> <7e> <0020> <c0> <ff> <0410> endbfrange
endcmap CMapName currentdict /CMap defineresource pop end end`

/** A PDF whose only page is listed so many times: 1.2 MB that take minutes to read. */
export function makePageBomb(times = 200_000): Buffer {
  const page =
    '/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R'
  const bodies = [
    { dict: '/Type /Catalog /Pages 2 0 R' },
    { dict: `/Type /Pages /Count ${times} /Kids [${'3 0 R '.repeat(times)}]` },
    { dict: page },
    { dict: '', stream: Buffer.from(show({ text: 'Again', y: 700 })) },
    { dict: '/Type /Font /Subtype /Type1 /BaseFont /Helvetica' },
  ]
  return assemble(bodies, '/Root 1 0 R', null)
}

export function makePdf(pages: readonly (readonly TextLine[])[], options: PdfOptions = {}): Buffer {
  const id = createHash('md5').update('parley').digest()
  const key = options.password === undefined ? null : encryption(options.password, id)
  const bodies: { dict: string; stream?: Buffer }[] = [
    { dict: '/Type /Catalog /Pages 2 0 R' },
    { dict: `/Type /Pages /Count ${pages.length} /Kids [${pages.map((_, i) => `${6 + 2 * i} 0 R`).join(' ')}]` },
    { dict: '/Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 4 0 R' },
    { dict: '', stream: Buffer.from(TO_UNICODE) },
    { dict: options.title === undefined ? '/Producer ()' : `/Title ${hex(utf16(options.title))}` },
  ]
  pages.forEach((lines, i) => {
    const resources = '/Resources << /Font << /F1 3 0 R >> >>'
    bodies.push({ dict: `/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] ${resources} /Contents ${7 + 2 * i} 0 R` })
    bodies.push({ dict: '', stream: Buffer.from(lines.map(show).join('\n')) })
  })
  if (options.deflated) bodies[bodies.length - 1] = { dict: '/Filter /FlateDecode', stream: options.deflated }
  if (options.ballast) bodies.push({ dict: '', stream: Buffer.alloc(options.ballast, 0x41) })
  if (key) bodies.push({ dict: key.dict })
  return assemble(bodies, `/Root 1 0 R /Info 5 0 R /ID [${hex(id)} ${hex(id)}]`, key)
}

const utf16 = (text: string) => Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()])
const show = ({ text, size = 11, x = 50, y }: TextLine) => `BT /F1 ${size} Tf ${x} ${y} Td ${hex(encode(text))} Tj ET`

function assemble(
  bodies: readonly { dict: string; stream?: Buffer }[],
  trailer: string,
  key: { key: Buffer } | null,
): Buffer {
  const parts = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')]
  const offsets: number[] = []
  let at = parts[0]!.length
  bodies.forEach(({ dict, stream }, i) => {
    const last = key && i === bodies.length - 1
    const data = stream && key && !last ? rc4(objectKey(key.key, i + 1), stream) : stream
    const object = Buffer.concat([
      Buffer.from(`${i + 1} 0 obj\n<< ${dict}${data ? ` /Length ${data.length}` : ''} >>\n`),
      ...(data ? [Buffer.from('stream\n'), data, Buffer.from('\nendstream\n')] : []),
      Buffer.from('endobj\n'),
    ])
    offsets.push(at)
    parts.push(object)
    at += object.length
  })
  const table = offsets.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = bodies.length + 1
  const encrypt = key ? ` /Encrypt ${bodies.length} 0 R` : ''
  parts.push(Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${table}`))
  parts.push(Buffer.from(`trailer\n<< /Size ${size} ${trailer}${encrypt} >>\nstartxref\n${at}\n%%EOF\n`))
  return Buffer.concat(parts)
}

const PADDING = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex')
const PERMISSIONS = -4
const md5 = (...parts: Uint8Array[]) => createHash('md5').update(Buffer.concat(parts)).digest()
const padded = (password: string) => Buffer.concat([Buffer.from(password, 'latin1'), PADDING]).subarray(0, 32)

/** Algorithms 2, 3 and 4 of §7.6.3, revision 2: keys of 40 bits. */
function encryption(password: string, id: Buffer): { key: Buffer; dict: string } {
  const owner = rc4(md5(padded(password)).subarray(0, 5), padded(password))
  const permissions = Buffer.alloc(4)
  permissions.writeInt32LE(PERMISSIONS)
  const key = md5(padded(password), owner, permissions, id).subarray(0, 5)
  const user = rc4(key, PADDING)
  return { key, dict: `/Filter /Standard /V 1 /R 2 /O ${hex(owner)} /U ${hex(user)} /P ${PERMISSIONS}` }
}

function objectKey(key: Buffer, number: number): Buffer {
  return md5(key, Buffer.from([number & 255, (number >> 8) & 255, number >> 16, 0, 0])).subarray(0, key.length + 5)
}

/** OpenSSL 3 keeps RC4 among what is legacy: done by hand, it is there everywhere. */
function rc4(key: Uint8Array, data: Uint8Array): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, i) => i)
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + state[i]! + key[i % key.length]!) & 255
    ;[state[i], state[j]] = [state[j]!, state[i]!]
  }
  const out = Buffer.alloc(data.length)
  for (let k = 0, i = 0, j = 0; k < data.length; k++) {
    i = (i + 1) & 255
    j = (j + state[i]!) & 255
    ;[state[i], state[j]] = [state[j]!, state[i]!]
    out[k] = data[k]! ^ state[(state[i]! + state[j]!) & 255]!
  }
  return out
}
