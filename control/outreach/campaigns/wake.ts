/** Notifies the pacers of all processes that there may be work. Only a hint: they also poll. */
import type { Redis } from 'ioredis'
import type { Deps } from '../../platform/deps.ts'
import { errorFields } from '../../platform/log.ts'

const channel = ({ config }: Pick<Deps, 'config'>) => `${config.redis_prefix}:campaigns`

export function wakePacers(deps: Pick<Deps, 'redis' | 'config' | 'log'>): void {
  deps.redis
    .publish(channel(deps), '')
    .catch(error => deps.log.debug({ error: errorFields(error) }, 'pacers were not notified'))
}

/** Opens a connection of its own, which `stop` closes. */
export function onWake(deps: Pick<Deps, 'redis' | 'config' | 'log'>, wake: () => void): { stop(): void } {
  const listener: Redis = deps.redis.duplicate()
  listener.on('error', error => deps.log.debug({ error: errorFields(error) }, 'pacer notifications are interrupted'))
  listener.on('message', wake)
  listener
    .subscribe(channel(deps))
    .catch(error => deps.log.debug({ error: errorFields(error) }, 'pacer notifications are interrupted'))
  return { stop: () => listener.disconnect() }
}
