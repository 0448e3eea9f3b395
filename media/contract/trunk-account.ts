/** The account that a trunk registers, as a hash: a registrar's answer is about this account, and no other. */
import { createHash } from 'node:crypto'
import type { TrunkPlan } from './plan.ts'

type Registering = Pick<
  TrunkPlan,
  'host' | 'port' | 'transport' | 'hosts' | 'username' | 'realm' | 'outbound_proxy' | 'from_user' | 'from_domain'
>

export function trunkAccount(trunk: Registering): string {
  const { username, realm, outbound_proxy, from_user, from_domain } = trunk
  const hosts = [trunk, ...trunk.hosts].map(({ host, port, transport }) => [host, port, transport])
  const text = JSON.stringify([hosts, username, realm, outbound_proxy, from_user, from_domain])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
