/** Tells the pacers of all processes that there may be something to do. A hint only: they look by themselves too. */
import type { Redis } from 'ioredis'
import type { Deps } from '../../platform/deps.ts'
import { errorFields } from '../../platform/log.ts'

const channel = ({ config }: Pick<Deps, 'config'>) => `${config.redis_prefix}:campaigns`

export function wakePacers(deps: Pick<Deps, 'redis' | 'config' | 'log'>): void {
  deps.redis
    .publish(channel(deps), '')
    .catch(error => deps.log.debug({ error: errorFields(error) }, 'pacers were not woken'))
}

/** Has a connection of its own, which the caller closes by `stop`. */
export function onWake(deps: Pick<Deps, 'redis' | 'config' | 'log'>, wake: () => void): { stop(): void } {
  const listener: Redis = deps.redis.duplicate()
  listener.on('error', error => deps.log.debug({ error: errorFields(error) }, 'pacer hears nothing for now'))
  listener.on('message', wake)
  listener
    .subscribe(channel(deps))
    .catch(error => deps.log.debug({ error: errorFields(error) }, 'pacer hears nothing for now'))
  return { stop: () => listener.disconnect() }
}
