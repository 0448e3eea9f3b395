/** Texts, pages and data become text that is understood in pieces; unreadable input gets an error with the reason. */
import { describe, expect, inject, it } from 'vitest'
import { code, outline, read } from './outline.ts'

const COLUMNS = inject('full') ? 1_000_000 : 200_000

describe('any document', () => {
  it('reports empty input', async () => {
    for (const kind of ['txt', 'md', 'csv', 'json', 'html', 'pdf', 'docx'] as const)
      expect(await code(kind, '')).toBe('empty')
    expect(await code('txt', ' \n\n \t')).toBe('no_text')
    expect(await code('md', '---\ntitle: x\n---\n\n***\n')).toBe('no_text')
    expect(await code('csv', ';;;\n;;;\n')).toBe('no_text')
    expect(await code('json', '{"a": null, "b": []}')).toBe('no_text')
    expect(await code('html', '<html><body><script>x()</script></body></html>')).toBe('no_text')
  })

  it('contains no characters that Postgres rejects, and nothing invisible', async () => {
    expect(await outline('json', JSON.stringify({ a: 'b\u00adc\u200bd\u0000e\u0007  f\u00a0\u00a0g' }))).toEqual([
      'a: bcde f g',
    ])
    const lone = await read('json', '{"a": "\\ud800 x \\u0000 y"}')
    expect(lone.blocks[0]!.text).toBe('a: \ufffd x y')
  })
})

describe('plain text', () => {
  it('splits into paragraphs', async () => {
    expect(await outline('txt', 'One.\nStill one.\r\n \r\nTwo.\n\n\n\nThree.')).toEqual([
      'One.\nStill one.',
      'Two.',
      'Three.',
    ])
  })

  it('may be one line of 5 MB', async () => {
    const { blocks } = await read('txt', 'слово '.repeat(450_000))
    expect(blocks).toHaveLength(1)
    expect(blocks[0]!.text).toHaveLength(450_000 * 6 - 1)
  })

  it('reports invalid input', async () => {
    expect(await code('txt', Buffer.alloc(5000, 'a\0\x01\xff', 'latin1'))).toBe('damaged')
  })

  it('may be in an encoding of Windows', async () => {
    expect(await outline('txt', Buffer.from('cff0e8e2e5f22c20ece8f020e820e4f0f3e7fcff', 'hex'))).toEqual([
      'Привет, мир и друзья',
    ])
  })
})

describe('Markdown', () => {
  it('keeps headings and text, and drops front matter and markup', async () => {
    const text = `---\ntitle: "Our rules"\ndraft: true\n---\n# Rules #\n\nA **bold** word, a [link](https://x.example/a_b), \`code\`.\nsnake_case_stays.\n\nDelivery\n--------\n\n* fast\n* *cheap*\n\n> quoted\n\n<!-- secret -->![Map](map.png)\n`
    expect((await read('md', text)).title).toBe('Our rules')
    expect(await outline('md', text)).toEqual([
      '# Rules',
      'A bold word, a link, code.\nsnake_case_stays.',
      '## Delivery',
      '- fast\n- cheap',
      'quoted',
      'Map',
    ])
  })

  it('keeps angle-bracket addresses and comparisons, and drops comments', async () => {
    const text =
      '# Contacts\n\nWrite to <help@shop.example> or see <https://shop.example/a>.\n\nBeds 90*200*20 cm, 2*3*4 = 24, if a <b and c> d.\n\n<!-- margin is\n40 % -->\n\nOpen <b class="x">daily</b><br/>.\n'
    expect(await outline('md', text)).toEqual([
      '# Contacts',
      'Write to help@shop.example or see https://shop.example/a.',
      'Beds 90*200*20 cm, 2*3*4 = 24, if a <b and c> d.',
      'Open daily.',
    ])
    expect(await outline('md', 'In code:\n\n```\n<!-- kept\n-->\n```\n\nafter <!-- open')).toEqual([
      'In code:',
      '<!-- kept\n-->',
      'after <!-- open',
    ])
  })

  it('reads tables by column, and ignores headings in code', async () => {
    const text =
      '| Item | Price |\n|:---|---:|\n| Wash | 5 |\n| Wax \\| full | 7 |\n\n~~~sh\n# not a heading\n~~~\nafter'
    expect(await outline('md', text)).toEqual([
      'Item: Wash; Price: 5',
      'Item: Wax | full; Price: 7',
      '# not a heading',
      'after',
    ])
  })

  it('takes linear time on unclosed markup', async () => {
    for (const mark of ['<!--', '<a a="', '<a ', '<http://'])
      expect(await code('md', `x\n${`${mark}\n`.repeat(200_000)}`)).toBe('read')
    for (const part of ['[', '![a](', '**a', '<a', '`', '|', '> ', '- ', '# ', '---\n', '\\'])
      expect(await code('md', part.repeat(Math.floor(300_000 / part.length)))).toMatch(/read|no_text/)
  })
})

describe('CSV', () => {
  it.each([',', ';', '\t', '|'])('produces self-contained rows for any delimiter: %j', async delimiter => {
    const rows = [
      ['Service', 'Price', 'Note'],
      ['Wash', '500', ''],
      ['Wax', '1.500', '"by hand, twice"'],
    ]
    expect(await outline('csv', rows.map(row => row.join(delimiter)).join('\r\n'))).toEqual([
      'Service: Wash; Price: 500',
      'Service: Wax; Price: 1.500; Note: by hand, twice',
    ])
  })

  it('detects the delimiter by the Excel line, quotes and row lengths', async () => {
    const text = '\ufeffsep=;\nName;Says\n"A ""B"" C";"two\nlines, here"\nD\n\nE;f;g\n'
    expect(await outline('csv', text)).toEqual([
      'Name: A "B" C; Says: two lines, here',
      'Name: D',
      'Name: E; Says: f; g',
    ])
  })

  it('finds column names next to empty columns', async () => {
    expect(await outline('csv', 'Item;Price;;\nTable;100;;\nChair;50;;old\n')).toEqual([
      'Item: Table; Price: 100',
      'Item: Chair; Price: 50; old',
    ])
  })

  it.each([
    ['a title', 'Price list 2026;;\n'],
    ['a title without delimiters, and a date', 'Price list 2026\nfrom 1 March\n'],
    ['rows of nothing', ';;\n ; ;\n'],
    ['a title in the middle, and a row of nothing', ';Price list 2026;\n;;\n'],
  ])('finds column names below %s', async (_, above) => {
    const { title, blocks } = await read('csv', `${above}Item;Price;Note\nWash;5;\n;;\nWax;7;by hand\n`)
    expect(title).toBe(above.includes('list') ? 'Price list 2026' : null)
    const date = above.includes('March') ? ['from 1 March'] : []
    expect(blocks.map(({ text }) => text)).toEqual([
      ...date,
      'Item: Wash; Price: 5',
      'Item: Wax; Price: 7; Note: by hand',
    ])
  })

  it('has no title when only one column has a name', async () => {
    expect(await outline('csv', 'Item;\nWash;5\nWax;7\n')).toEqual(['Item: Wash; 5', 'Item: Wax; 7'])
    expect(await outline('csv', ';Price\nWash;5\nWax;7\n')).toEqual(['Wash; Price: 5', 'Wax; Price: 7'])
  })

  it('stays as it is without column names', async () => {
    expect(await outline('csv', '1,2\n3,4\n')).toEqual(['1; 2', '3; 4'])
  })

  it('loses no row to an unclosed quote', async () => {
    expect(await outline('csv', 'item,size\n"tube,5\nrod,6\n')).toEqual(['item: "tube; size: 5', 'item: rod; size: 6'])
  })

  it('rejects expansion by long column names', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `column ${i} ${'x'.repeat(100)}`)
    expect(await code('csv', `${names.join()}\n${`${'1,'.repeat(19)}1\n`.repeat(10_000)}`)).toBe('too_large')
  })

  it(`may have ${COLUMNS} columns`, async () => {
    const { blocks } = await read('csv', `${'a,'.repeat(COLUMNS)}b\n1,2\n`)
    expect(blocks).toHaveLength(2)
  })
})

describe('JSON', () => {
  it('produces records with their fields', async () => {
    const value = {
      name: 'Wave',
      hours: { mon: '9–18', sun: null },
      faq: [
        { q: 'Parking?', a: 'Yes', near: ['gate', 'yard'] },
        { q: 'Wi-Fi?', a: 'No', who: { name: 'Ann', rooms: [{ n: 1 }, { n: 2 }] } },
      ],
    }
    expect(await outline('json', JSON.stringify(value))).toEqual([
      'name: Wave',
      '# hours',
      'mon: 9–18',
      '# faq',
      'q: Parking?\na: Yes\nnear: gate, yard',
      'q: Wi-Fi?\na: No\nwho › name: Ann\nwho › rooms 1 › n: 1\nwho › rooms 2 › n: 2',
    ])
    expect(await outline('json', '[{"a": 1}, {"a": true}]')).toEqual(['a: 1', 'a: true'])
    expect(await outline('json', '{"a": 1}\n{"a": 2}\n')).toEqual(['a: 1', 'a: 2'])
    expect(await outline('json', '"just words"')).toEqual(['just words'])
  })

  it('keeps every digit of its numbers, and no more', async () => {
    const text = '{"account": 40702810900000012345, "price": 10.50, "far": -1.5E3, "sizes": [1.10, 2], "ok": true}'
    expect(await outline('json', text)).toEqual([
      'account: 40702810900000012345\nprice: 10.50\nfar: -1500\nok: true',
      '# sizes',
      '1.10, 2',
    ])
    expect(await outline('json', '{"a": 9007199254740993}\n{"a": 0.30}')).toEqual(['a: 9007199254740993', 'a: 0.30'])
  })

  it('reports invalid or deeply nested input', async () => {
    expect(await code('json', '{"a": 1')).toBe('damaged')
    expect(await code('json', '['.repeat(100_000) + ']'.repeat(100_000))).toBe('too_complex')
    expect(await code('json', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).toBe('too_complex')
    expect(await code('json', JSON.stringify({ a: '['.repeat(1000) }))).toBe('read')
  })
})

describe('HTML', () => {
  const page = (body: string, head = '') => `<!doctype html><html><head>${head}</head><body>${body}</body></html>`

  it('extracts visible text: headings, lists, tables, no navigation', async () => {
    const html = page(
      `<script>var secret = '<p>script</p>'</script><style>p{content:'style'}</style><noscript>off</noscript>
      <nav><a href="/">Home</a></nav><div role="navigation">menu</div><div class="cookie-banner">cookies</div>
      <h1>Car wash</h1><p>We <b>wa</b>sh<br>cars.</p><p hidden>h1</p><p style="color:red; display : none">h2</p>
      <p aria-hidden="true">h3</p><template>h4</template><form><label>Name</label><input value="h5"><button>h6</button></form>
      <ul><li>fast</li><li><p>cheap</p></li></ul><dl><dt>Mon</dt><dd>9–18</dd><dt>Sun</dt><dd>closed</dd></dl>
      <table><caption>Prices</caption><tr><th>Item</th><th>Price</th></tr><tr><td>Wash</td><td>5</td></tr></table>
      <table><tr><td>Phone</td><td>112</td></tr></table>
      <details><summary>Parking?</summary>In the yard.</details>
      <footer>© 2024 <address>Main street 5</address></footer>`,
      '<title>The Wave &amp; Co</title>',
    )
    const { title, blocks } = await read('html', html)
    expect(title).toBe('The Wave & Co')
    const text = blocks.map(block => block.text).join('\n')
    expect(text).not.toMatch(/secret|style|off|Home|menu|cookies|h\d|©/)
    expect(blocks.find(block => block.text === 'Car wash')?.heading).toBeGreaterThan(0)
    for (const part of [
      'We wash\ncars.',
      '- fast\n- cheap',
      'Mon: 9–18\nSun: closed',
      'Item: Wash; Price: 5',
      'Phone: 112',
      'Main street 5',
    ])
      expect(text).toContain(part)
    expect(text).toMatch(/Parking\?\s+In the yard\./)
  })

  it('drops only what surrounds an article', async () => {
    const sentences =
      'The wash takes twenty minutes, and the wax another ten, which is why we ask you to book. '.repeat(12)
    const article = `<article><h1>How we wash</h1><p>${sentences}</p><h2>Wax</h2><p>${sentences}</p></article>`
    const beside = '<div class="sidebar related"><a href="/1">Other news</a> <a href="/2">More of it</a></div>'
    const found = await outline('html', page(`<div id="main">${article}</div>${beside}`))
    expect(found.join('\n')).toContain('twenty minutes')
    expect(found.some(line => /^#+ Wax$/.test(line))).toBe(true)
    expect(found.join('\n')).not.toContain('Other news')
  })

  it.each([
    [
      'a box with a link beside it',
      (text: string) => `<div class="mw-heading"><h2>${text}</h2><a href="/e">edit</a></div>`,
    ],
    [
      'a title page of DocBook',
      (text: string) => `<div class="titlepage"><div><div><h2><a id="x"/>${text}</h2></div></div></div>`,
    ],
    ['nothing', (text: string) => `<h2>${text}</h2>`],
  ])('keeps the headings of an article that stand in %s, each above its text', async (_, head) => {
    const text = (about: string) =>
      `<p>${`${about} is what many people ask about, and there is much to say of it. `.repeat(8)}</p>`
    const sections = ['Wax', 'Foam', 'Tyres'].map(
      one => `<div class="section">${head(one)}${text(one)}${text(`More ${one}`)}</div>`,
    )
    const found = await outline('html', page(`<div class="chapter"><h1>All</h1>${sections.join('')}</div>`))
    const kinds = found.filter(line => !/^#+ All$|^edit$/.test(line)).map(line => line.split(' ').slice(0, 2).join(' '))
    expect(kinds).toEqual(['Wax', 'Foam', 'Tyres'].flatMap(one => [`## ${one}`, `${one} is`, `More ${one}`]))
  })

  it('reads fragments, unclosed tags and pages that are all navigation', async () => {
    expect(await outline('html', '<p>one<p>two <b>three</p>four')).toEqual(['one', 'two three', 'four'])
    expect(await outline('html', '<html><head><title>T</title><h1>Open</h1><p>Every day</p>')).toEqual([
      '# Open',
      'Every day',
    ])
    expect((await outline('html', page('<nav>Call 112</nav>'))).join()).toContain('Call 112')
    expect(await outline('html', 'no tags & nothing')).toEqual(['no tags & nothing'])
  })

  it('keeps lines of preformatted text', async () => {
    const hours = '<pre>\nMon  9-18\r\n<b>Sat</b>  10-15\n\nSun  closed</pre>'
    const lines = 'Mon 9-18\nSat 10-15\nSun closed'
    expect(await outline('html', page(`<p>We are\nopen:</p>${hours}<p>Come\nin!</p>`))).toEqual([
      'We are open:',
      lines,
      'Come in!',
    ])
    const sentences = 'The wash takes twenty minutes, and the wax another ten, so we ask you to book. '.repeat(12)
    const article = `<article><h1>How</h1><p>${sentences}</p>${hours}<p>${sentences}</p></article>`
    expect(await outline('html', page(article))).toContain(lines)
  })

  it("does not take a picture's title as the page's title", async () => {
    const icon = '<svg><title>Menu</title><path d=""/></svg>'
    expect(await read('html', page(`${icon}<h1>The Wave</h1><p>Open daily.</p>`))).toMatchObject({ title: 'The Wave' })
    const late = `<html><body>${icon}<title>The Wave, car wash</title><p>Open daily.</p></body></html>`
    expect(await read('html', late)).toMatchObject({ title: 'The Wave, car wash' })
  })

  it('reads a declared encoding', async () => {
    const bytes = Buffer.concat([
      Buffer.from('<html><head><meta charset="windows-1251"></head><body><p>'),
      Buffer.from('cff0e8e2e5f2', 'hex'),
      Buffer.from('</p></body></html>'),
    ])
    expect(await outline('html', bytes)).toEqual(['Привет'])
    const koi = Buffer.from('f0d2c9d7c5d4', 'hex')
    expect(await outline('html', koi, { charset: 'koi8-r' })).toEqual(['Привет'])
  })

  it('accepts optional tags that are omitted', async () => {
    const body = '<meta name=robots content=noindex><h1>Open</h1><p>Daily, see <a href=/map>the map</a></p>'
    for (const start of [
      '<!doctype html>',
      '<!DOCTYPE html><!-- <html> --><head>',
      '\ufeff<!-- x --><!doctype html><body>',
    ]) {
      const found = await read('html', `${start}<title>The Wave</title>${body}`, { url: 'https://x.example/' })
      expect(found, start).toMatchObject({
        title: 'The Wave',
        html: { links: ['https://x.example/map'], noindex: true },
      })
      expect(found.blocks.map(({ text }) => text)).toEqual(['Open', 'Daily, see the map'])
    }
  })

  it('rejects unbounded nesting at once', async () => {
    expect(await code('html', page(`${'<div>'.repeat(100_000)}x${'</div>'.repeat(100_000)}`))).toBe('too_complex')
    expect(await code('html', page('<b>'.repeat(100_000)))).toBe('too_complex')
    const commented = page(`<!-- ${'<div>'.repeat(2000)} --><script>${'"<div>"'.repeat(2000)}</script><p>x</p>`)
    expect(await code('html', commented)).toBe('read')
    expect((await outline('html', page('<p>item'.repeat(5000)))).length).toBe(5000)
  })

  it('reports links and robots directives of a page', async () => {
    const html = page(
      `<a href="a?x=1#top">1</a><a href="/b">2</a><a href="/b#again">3</a><a href="mailto:a@b.example">4</a>
      <a href="javascript:alert(1)">5</a><a href="ftp://x.example/">6</a><a href="//other.example/c">7</a><a>8</a>
      <a href="http://[broken">9</a><area href="/map">`,
      `<base href="/shop/"><link rel="Canonical" href="/shop/main"><meta name="ROBOTS" content="NoFollow, noarchive">`,
    )
    const { html: links, url } = await read('html', html, { url: 'https://x.example/index.html' })
    expect(url).toBe('https://x.example/index.html')
    expect(links).toEqual({
      links: [
        'https://x.example/shop/a?x=1',
        'https://x.example/b',
        'https://other.example/c',
        'https://x.example/map',
      ],
      canonical: 'https://x.example/shop/main',
      refresh: null,
      noindex: false,
      nofollow: true,
    })
    const refresh = async (content: string) => {
      const head = `<meta http-equiv="Refresh" content="${content}">`
      return (await read('html', page('x', head), { url: 'https://x.example/' })).html!.refresh
    }
    for (const content of ['0; url=/ru/', "1;URL='/ru/' ", '0,/ru/', '0.5 ; /ru/']) {
      expect(await refresh(content), content).toBe('https://x.example/ru/')
    }
    for (const content of ['5', '300; url=/ru/', '', '0; url=javascript:x()']) expect(await refresh(content)).toBeNull()
    const old =
      '<HTML><HEAD><META NAME="robots" CONTENT="nofollow"></HEAD><BODY><P HIDDEN>x</P><A HREF="/b">2</A></BODY></HTML>'
    expect(await read('html', old, { url: 'https://x.example/' })).toMatchObject({
      blocks: [{ text: '2' }],
      html: { links: ['https://x.example/b'], nofollow: true },
    })
    const none = await read('html', page('', '<meta name="robots" content="none">'), { url: 'https://x.example/' })
    expect(none).toMatchObject({ blocks: [], html: { noindex: true, nofollow: true, links: [], canonical: null } })
  })
})
