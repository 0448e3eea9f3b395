/** The demo's account: created at the first start, stored in `demo.json`, with its addresses updated at each start. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createAccount, topUp } from '../../control/access/accounts/service.ts'
import { createKey, verifyKey } from '../../control/access/keys/service.ts'
import { giveLogin } from '../../control/access/login/login.ts'
import type { ProjectInput } from '../../control/agents/projects/schema.ts'
import { createProject, patchProject } from '../../control/agents/projects/service.ts'
import { bindNumber } from '../../control/telephony/numbers/service.ts'
import { createSoftphone } from '../../control/telephony/softphones/service.ts'
import { createTrunk, patchTrunk, publishTrunks } from '../../control/telephony/trunks/service.ts'
import { createWebhook, patchWebhook } from '../../control/webhooks/service.ts'
import type { ControlParts } from '../wiring/parts.ts'

export interface DemoFile {
  base_url: string
  mcp_url: string
  dashboard_url: string
  sip_uri: string
  api_key: string
  owner_id: string
  project_id: string
  trunk_id: string
  outbound_number: string
  inbound_number: string
  callee_number: string
  webhook_id: string
  webhook_secret: string
  /** Credentials for registering a softphone; its server is that of `sip_uri`. */
  softphone: { id: string; username: string; password: string }
  /** Login to the dashboard. */
  login: { email: string; password: string }
}

export interface DemoAddresses {
  baseUrl: string
  sip: { host: string; port: number }
  phone: { host: string; port: number }
  worldPort: number
}

const OUTBOUND = '+12025550142'
const INBOUND = '+12025550143'
const CALLEE = '+12025550190'
const MONEY_FOR_CALLS = '1000.0000'

export async function openDemoAccount(parts: ControlParts, file: string, addresses: DemoAddresses): Promise<DemoFile> {
  const kept = await readKept(parts, file)
  const demo = kept ?? (await createAll(parts, addresses))
  if (kept) await refresh(parts, kept, addresses)
  // Added for installations that were created before softphones and logins existed.
  demo.softphone ??= await newSoftphone(parts, demo.owner_id, demo.project_id)
  demo.login ??= await newLogin(parts, demo.owner_id)
  await publishTrunks(parts) // the demo call follows at once
  const { baseUrl, sip } = addresses
  const whole: DemoFile = {
    ...demo,
    base_url: baseUrl,
    mcp_url: `${baseUrl}/mcp`,
    dashboard_url: `${baseUrl}/dashboard`,
    sip_uri: `sip:${INBOUND}@${sip.host}:${sip.port}`,
  }
  writeFileSync(file, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600 })
  return whole
}

/** Null when there is no file, or it belongs to another database. */
async function readKept(parts: ControlParts, file: string): Promise<DemoFile | null> {
  if (!existsSync(file)) return null
  try {
    const demo = JSON.parse(readFileSync(file, 'utf8')) as DemoFile
    return (await verifyKey(parts, demo.api_key, '127.0.0.1')) ? demo : null
  } catch {
    return null
  }
}

type Created = Omit<DemoFile, 'base_url' | 'mcp_url' | 'dashboard_url' | 'sip_uri'>

async function createAll(parts: ControlParts, addresses: DemoAddresses): Promise<Created> {
  const { id: owner } = await createAccount(parts, { name: 'Demo' })
  await topUp(parts, owner, MONEY_FOR_CALLS)
  const project = await createProject(parts, owner, {
    name: 'Riverside restaurant',
    language: 'en',
    ...agent(addresses.worldPort),
  })
  const trunk = await createTrunk(parts, owner, trunkOf(addresses))
  await bindNumber(parts, owner, project.id, { number: OUTBOUND, direction: 'both' })
  await bindNumber(parts, owner, project.id, { number: INBOUND, direction: 'in' })
  const key = await createKey(parts, owner, { name: 'Demo', scopes: ['read', 'write'] })
  const webhook = await createWebhook(parts, owner, {
    url: webhookUrl(addresses),
    events: ['call.completed', 'call.failed'],
  })
  return {
    api_key: key.value,
    owner_id: owner,
    project_id: project.id,
    trunk_id: trunk.id,
    outbound_number: OUTBOUND,
    inbound_number: INBOUND,
    callee_number: CALLEE,
    webhook_id: webhook.id,
    webhook_secret: webhook.secret,
    softphone: await newSoftphone(parts, owner, project.id),
    login: await newLogin(parts, owner),
  }
}

async function newSoftphone(parts: ControlParts, owner: string, project_id: string): Promise<DemoFile['softphone']> {
  const { id, username, password } = await createSoftphone(parts, owner, { name: 'Demo', project_id })
  return { id, username, password }
}

/** The address contains part of the account's id, to be unique if the database holds another demo. */
async function newLogin(parts: ControlParts, owner: string): Promise<DemoFile['login']> {
  const login = { email: `demo-${owner.slice(-6)}@parley.example`, password: randomBytes(9).toString('base64url') }
  await giveLogin(parts, owner, login)
  return login
}

/** Ports may differ from the last start. Changes by the user to the agent are kept, except the tool's address. */
async function refresh(parts: ControlParts, demo: DemoFile, addresses: DemoAddresses): Promise<void> {
  await patchTrunk(parts, demo.owner_id, demo.trunk_id, trunkOf(addresses))
  await patchProject(parts, demo.owner_id, demo.project_id, { tools: agent(addresses.worldPort).tools as never })
  await patchWebhook(parts, demo.owner_id, demo.webhook_id, { url: webhookUrl(addresses) })
}

const webhookUrl = ({ worldPort }: DemoAddresses) => `http://127.0.0.1:${worldPort}/webhook`

const trunkOf = ({ phone }: DemoAddresses) => ({
  name: 'Loopback',
  mode: 'ip' as const,
  host: phone.host,
  port: phone.port,
  transport: 'udp' as const,
  allowed_ips: ['127.0.0.1/32'],
  numbers: [OUTBOUND, INBOUND],
})

const agent = (worldPort: number): Omit<ProjectInput, 'name' | 'language'> => ({
  prompt: 'You are the telephone assistant of the Riverside restaurant. You take bookings.',
  disclosure: 'Hello, this is the automatic assistant of the Riverside restaurant.',
  greeting: 'You asked us to call you about a table. What can I do for you?',
  goal: 'A table is booked.',
  // The demo's phone waits for the agent.
  voicemail: { action: 'ignore' },
  extraction: {
    type: 'object',
    properties: {
      date: { type: 'string', format: 'date' },
      time: { type: 'string', format: 'time' },
      party_size: { type: 'integer' },
      name: { type: 'string' },
    },
  },
  tools: [
    {
      name: 'book_table',
      description: 'Book a table in the restaurant.',
      method: 'POST',
      url: `http://127.0.0.1:${worldPort}/book`,
      parameters: {
        type: 'object',
        properties: {
          date: { type: 'string', format: 'date', description: 'For which day?' },
          time: { type: 'string', format: 'time', description: 'At what time?' },
          party_size: { type: 'integer', minimum: 1, maximum: 20, description: 'For how many people?' },
          name: { type: 'string', description: 'Under what name?' },
        },
        required: ['date', 'time', 'party_size', 'name'],
      },
      filler: 'One moment please, I am writing that into the book.',
    },
  ],
})
