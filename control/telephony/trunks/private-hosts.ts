/** Addresses that trunks may have: an owner's trunk must not be a way into the network of this installation. */
import { mayName, type PrivateHosts } from '../../../media/shared/addresses.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { TrunkSettings } from './schema.ts'

/** `host`, `host:port`, or a whole URI. */
const PROXY_HOST = /^\s*(?:sips?:)?(?:[^@]*@)?(\[[^\]]*\]|[^:;?>\s]+)/i

/**
 * Checks literal addresses here, so that the owner gets the error at once. The engine and the SIP server check what a
 * name resolves to when they use it, because it may change at any time.
 */
export function checkHosts(
  allowed: PrivateHosts,
  { host, hosts, outbound_proxy }: Pick<TrunkSettings, 'host' | 'hosts' | 'outbound_proxy'>,
): void {
  const named = [
    { pointer: '/host', host },
    ...hosts.map((one, index) => ({ pointer: `/hosts/${index}/host`, host: one.host })),
    { pointer: '/outbound_proxy', host: PROXY_HOST.exec(outbound_proxy ?? '')?.[1] ?? null },
  ]
  const errors = named
    .filter(({ host }) => host !== null && !mayName(allowed, host))
    .map(({ pointer }) => ({ pointer, code: 'private_address', message: 'must be a public internet address' }))
  if (errors.length > 0) throw new Problem('validation_failed', { errors })
}
