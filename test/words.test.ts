/** Private words of earlier versions stay out of names, texts, comments and documents; docs/renames.md lists what replaced them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')

/** Frozen (checksums, legal texts, measured reports), generated, or about the old words themselves. */
const EXEMPT =
  /^(?:control\/platform\/db\/migrations\/|control\/api\/client\/api\.ts|docs\/(?:renames|lead-terms)\.md|docs\/benchmark\/|CHANGELOG\.md|test\/corpus\/|test\/words\.test\.ts|test\/control\/migrate-filled\.integration\.test\.ts|package-lock\.json)/

const FOLDERS = ['media', 'control', 'sip', 'infra', 'test', 'docs', 'examples']
const files = [
  ...readdirSync(root).filter(name => name.endsWith('.md')),
  ...FOLDERS.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`),
  ),
].filter(
  file =>
    /\.(?:tsx?|mjs|md|json|ya?ml|html|css)$/.test(file) &&
    !/\/(?:dist|node_modules)\//.test(file) &&
    !EXEMPT.test(file),
)

interface Term {
  /** The term to use instead. */
  now: string
  matches: RegExp
  /** Files in which the word has its ordinary meaning. */
  except?: RegExp
}

const terms: Record<string, Term> = {
  ears: { now: 'speech-to-text', matches: /\bears\b|\bEARS\b|\bEars\b/ },
  brain: { now: 'llm', matches: /\bbrains?\b|\bBrains?(?=[A-Z]|\b)|[a-z]Brains?\b/ },
  mouth: { now: 'speech output', matches: /\bmouth\b(?![- ]to[- ]ear)|\bMouth(?=[A-Z]|\b)(?![- ]to[- ]ear)/ },
  desk: { now: 'CallManager', matches: /\bopenDesk\b|\bDesk(?=Options\b)|#desk\b/ },
  journal: { now: 'transcript, event outbox', matches: /\bEventJournal\b|\bjournal\b|\bJournal\b/ },
  deed: { now: 'audit entry', matches: /\bdeeds?\b|\bDeed/ },
  undertaker: { now: 'cleanup watchdog', matches: /\b[uU]ndertaker\b|startUndertaker/, except: /niche|moderation/ },
  forsaken: { now: 'fallbackPending', matches: /\bforsaken\b/ },
  teller: { now: 'progress reporter', matches: /\b[tT]eller\b|createTeller/ },
  stretch: { now: 'utterance', matches: /\b[sS]tretch(?:es)?\b|STRETCH/ },
  fence: { now: 'untrusted content', matches: /\bFENCE_RULE\b|\bfenced? (?:text|words|content)\b/ },
  verdict: { now: 'status, result, decision or outcome', matches: /\b[vV]erdicts?\b|[a-z]Verdicts?\b|\bVERDICTS?\b/ },
  door: { now: 'accepting, draining', matches: /\bonDoor\b|#door\b|\bDoor\b|DOOR_/ },
  'fields of the API': { now: 'generated, omitted, message', matches: /\bmade_up\b|\bleft_out\b|\bmadeUp\b/ },
  'words of a diagnosis': { now: 'message', matches: /\b(?:diagnosis|checks\[\d\]!?\??)!?\??\.words\b/ },
  asks: { now: 'requests', matches: /\bAsk(?:Name|Request|Answer|Handlers|Unanswered)\b|\bonAsks\b|'asks'/ },
  sound: {
    now: 'audio',
    matches: /\b(?:Pending|Waiting|Hold|Early)Sound\b|\bSound(?:Pipe|Queue|Receiver|Sender|Clock|Timeline)\b/,
  },
  turn: { now: 'rate token', matches: /\b(?:turnMs|dueTurns|turnsAhead|trunkTurn|DialTurn|TAKE_TURN)\b/ },
  shed: { now: 'rejected', matches: /\bSHED\b|\bonShed\b/ },
  barring: { now: 'dialing limits', matches: /\bbarring(?:Of)?\b/ },
  place: { now: 'the standard term', matches: /\b(?:SmtpPlace|ToolPlace|FoundPlaceName)\b/ },
  look: { now: 'reconcile, read, check', matches: /\blook(?:At(?:Secrets|Models|Monitors)|Of)\b/ },
  told: { now: 'reported, result', matches: /\b(?:toldOf|notTold|toldToo|tellEnded|selectUntold|tellingWords)\b/ },
  'others of words.md': {
    now: 'see the table of renames',
    matches:
      /\b(?:EchoJudge|dipMs|needsKeeper|vectorless|lookSoon|barredAs|SipSeen|takeHome|isDeaf|heardBy|showOut|isStillGood)\b|_untaken_total|_barred_total|RUSSIAN_EARS/,
  },
}

describe('private words', () => {
  it.each(Object.entries(terms))('%s does not occur', (_, { matches, except }) => {
    const found = files
      .filter(file => !except?.test(file))
      .flatMap(file =>
        readFileSync(join(root, file), 'utf8')
          .split('\n')
          .flatMap((line, index) => (matches.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`] : [])),
      )
    expect(found).toEqual([])
  })
})

describe('comments', () => {
  it('have a subject', () => {
    const headless =
      /(?:\/\*\*(?:\s*\n\s*\*)?|(?<!\/\/.*\n)^[ \t]*\/\/)[ \t]+(?:Of|What|Who|Whose|Whom|The same)\b(?! course).*/gm
    const found = files
      .filter(file => /\.(?:tsx?|mjs)$/.test(file))
      .flatMap(file => {
        const text = readFileSync(join(root, file), 'utf8')
        return [...text.matchAll(headless)].map(({ 0: comment }) => `${file}: ${comment.trim().slice(0, 120)}`)
      })
    expect(found).toEqual([])
  })
})
