/** Findings about control's REST API, the dashboard, and the public address. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isPublic } from '../../media/shared/addresses.ts'
import { formatHost } from '../../sip/text/grammar.ts'
import type { Config } from '../config/config.ts'
import { bareHost, isLoopback, isWildcard } from '../config/hosts.ts'
import { about, type Finding, failureOf } from './finding.ts'

const say = about('Control')
const ANSWER_MS = 4000

export type WebAnswer = { status: number; text: string } | { failure: string }

export async function examineControl(config: Config): Promise<Finding[]> {
  const host = isWildcard(config.HTTP_HOST) ? '127.0.0.1' : bareHost(config.HTTP_HOST)
  const own = `http://${formatHost(host)}:${config.HTTP_PORT}`
  const { PUBLIC_URL } = config
  const [here, outside] = await Promise.all([
    get(`${own}/readyz`),
    PUBLIC_URL === undefined ? null : get(`${PUBLIC_URL.replace(/\/$/, '')}/healthz`),
  ])
  return [...judgeControl(own, here), ...judgePublicUrl(PUBLIC_URL, outside), ...judgePage(config)]
}

export function judgeControl(own: string, answer: WebAnswer): Finding[] {
  if ('failure' in answer) {
    const todo = 'Start control, or correct HTTP_HOST and HTTP_PORT. If it exits at once, its log says why.'
    return [say.error(`${own}: ${answer.failure}.`, todo)]
  }
  if (answer.status === 200) return [say.ok(`${own} answers and is ready.`)]
  const lacking = [...answer.text.matchAll(/"(postgres|redis)":false/g)].map(match => match[1])
  if (/"draining"/.test(answer.text))
    return [say.warning(`${own} is draining.`, 'Check that another control process is running.')]
  if (lacking.length === 0) {
    return [
      say.error(
        `${own}/readyz answered with status ${answer.status}.`,
        'Another program may use this port. Otherwise see control’s log.',
      ),
    ]
  }
  return [
    say.error(
      `${own} is running but cannot reach ${lacking.join(' and ')}.`,
      'Fix that first; control then resumes on its own.',
    ),
  ]
}

export function judgePublicUrl(url: string | undefined, answer: WebAnswer | null): Finding[] {
  if (url === undefined || answer === null) return []
  const { protocol, hostname } = new URL(url)
  const findings: Finding[] = []
  if (protocol === 'http:' && !isLoopback(hostname)) {
    const todo = 'Put a TLS proxy in front of control, and use https in PUBLIC_URL.'
    findings.push(
      say.warning(`PUBLIC_URL is ${protocol}//…: keys and passwords cross the network as plain text.`, todo),
    )
  }
  if ('failure' in answer || answer.status !== 200) {
    const why = 'failure' in answer ? answer.failure : `status ${answer.status}`
    const todo = 'Check that DNS and the proxy lead to control. Some networks cannot reach their own public address.'
    findings.push(say.warning(`The public address ${new URL(url).host} is not reachable from here: ${why}.`, todo))
  }
  return findings
}

function judgePage({ DASHBOARD_DIR }: Config): Finding[] {
  const folder = DASHBOARD_DIR ?? join(import.meta.dirname, '../../control/dashboard/dist')
  if (existsSync(join(folder, 'index.html'))) return []
  return [
    about('Dashboard').warning(
      'The dashboard is not built.',
      'Run `npm start` to build it. The REST API works without it.',
    ),
  ]
}

/** True when strangers can find this installation on the internet. */
export function isOpen({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): boolean {
  if (PUBLIC_URL === undefined) return false
  const host = bareHost(new URL(PUBLIC_URL).hostname)
  if (/^[\d.]+$|:/.test(host)) return isPublic(host)
  return host.includes('.') && !/\.(?:localhost|local|internal|lan|test|home\.arpa)$/.test(host)
}

async function get(url: string): Promise<WebAnswer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' })
    return { status: response.status, text: (await response.text()).slice(0, 10_000) }
  } catch (error) {
    return { failure: failureOf(error) }
  }
}
